// Reloads an error page once its address has another status. It asks in the background, so that nobody is interrupted before there is
// something new, and a slow answer is awaited. An address with a query is reloaded by time: it may be a link that works once, which a
// request in the background would use up. Written for every browser.
(function again() {
  var data = JSON.parse(document.getElementById('vestibule-data').text);
  setTimeout(function () {
    if (!navigator.onLine) again();
    else if (!window.fetch || location.search) location.reload();
    else
      fetch(location.href, { cache: 'no-store', redirect: 'manual' }).then(function (response) {
        if (response.status === data.status) again();
        else location.reload();
      }, again);
  }, 1000 * data.refresh_seconds);
})();
