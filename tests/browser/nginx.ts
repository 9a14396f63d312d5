import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { end, freePort, untilListening } from './process.ts'

/** An nginx in front of the gate. */
export interface Nginx {
  /** The URL of a path on a host: `at('shop.localhost', '/tickets')`. */
  at(host: string, path?: string): string
  stop(): Promise<void>
}

/** Debian installs nginx where only the search path of root leads. */
const program = existsSync('/usr/sbin/nginx') ? '/usr/sbin/nginx' : 'nginx'

/** Starts an nginx that passes all requests to `address`, with these directives for it. */
export async function startNginx(address: string, directives: string): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'vestibule-nginx-'))
  const port = await freePort()
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`)
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid nginx.pid; events { worker_connections 256; }
    http {
      access_log off; ${temporary.join(' ')}
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass http://${address}; proxy_http_version 1.1; proxy_set_header Host $http_host; ${directives} }
      }
    }`,
  )
  const running: ChildProcess = spawn(program, ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'], { stdio: 'inherit' })
  let gone = false
  running.once('error', () => (gone = true))
  running.once('exit', () => (gone = true))
  const isGone = () => gone
  await untilListening(port, isGone)
  if (isGone()) throw new Error('nginx did not start: scripts/setup installs it')
  return {
    at: (host, path = '/') => `http://${host}:${port}${path}`,
    async stop() {
      await end(running)
      await rm(folder, { recursive: true })
    },
  }
}
