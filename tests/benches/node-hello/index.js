// The least that a function in Node.js can be: the Runtime API by the built-in http module, and a hello for every event.
'use strict';

const http = require('node:http');

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(':');
const agent = new http.Agent({ keepAlive: true });

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host, port, method, path: `/2018-06-01/runtime/invocation/${path}`, agent }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks).toString() }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

async function run() {
  for (;;) {
    const { headers, body } = await call('GET', 'next');
    JSON.parse(body);
    const answer = { statusCode: 200, multiValueHeaders: { 'content-type': ['text/plain'] }, body: 'hello' };
    await call('POST', `${headers['lambda-runtime-aws-request-id']}/response`, JSON.stringify(answer));
  }
}

run();
