// Asks for the state of the job that its page shows, refreshes its position and progress, and reloads the page once it would say
// something else. Keeps the session of the visitor active meanwhile. Written for every browser.
(function () {
  var job = JSON.parse(document.getElementById('vestibule-job').text), renewAt = 0;
  var send = function (method, url, done) {
    var request = new XMLHttpRequest();
    request.open(method, url);
    request.setRequestHeader('Accept', 'application/json');
    request.onloadend = function () {
      var body = {};
      try { body = JSON.parse(request.responseText) || {}; } catch (error) { }
      done(request.status, body);
    };
    request.send();
  };
  var renew = function () {
    renewAt = Infinity;
    send('POST', job.keepalive_url, function (_, status) {
      renewAt = Date.now() + 1000 * Math.min(status.poll_after || 10, (status.expires_in || 30) / 3);
    });
  };
  var find = function (name) { return document.querySelector('[data-vestibule="job-' + name + '"]'); };
  // A theme may show neither.
  var show = function (name, text) {
    var element = find(name), row = find(name + '-row');
    if (element && element.textContent !== text) element.textContent = text;
    if (row) row.hidden = !text;
  };
  var showDetails = function (now) {
    var waits = now.state === 'queued' && !now.receive_count && typeof now.ahead === 'number';
    show('position', waits ? (now.ahead + 1).toLocaleString([job.lang, 'en-GB'], { numberingSystem: 'latn' }) : '');
    var last = now.state === 'running' && now.progress && now.progress[now.progress.length - 1], text = last && last.message;
    if (text && typeof text === 'object') text = text.status;
    show('progress', typeof text === 'string' ? text.slice(0, 500) : '');
  };
  var ask = function () {
    if (Date.now() >= renewAt) renew();
    send('GET', job.status_url, function (status, now) {
      var isRetrying = now.state === 'retrying' || (now.state === 'queued' && now.receive_count > 0);
      var isRunning = isRetrying || now.state === 'queued' || now.state === 'running';
      var isSame = isRunning && (!job.is_order || isRetrying === job.is_retrying);
      // The job is not known any more, or the visitor is not.
      if (status === 401 || status === 404 || (now.state && !isSame)) location.reload();
      else {
        if (now.state) showDetails(now);
        setTimeout(ask, 1000 * job.poll_after);
      }
    });
  };
  setTimeout(ask, 1000 * job.poll_after);
})();
