// Reloads an error page once the site has another status. It asks in the background, so that nobody is interrupted before there is
// something new, and a slow answer is awaited. It asks for the front page: the address of this page may be a link that works once.
// Written for every browser.
(function again() {
  var data = JSON.parse(document.getElementById('vestibule-data').text);
  setTimeout(function () {
    if (!navigator.onLine) again();
    else if (!window.fetch) location.reload();
    else
      fetch('/', { cache: 'no-store', redirect: 'manual' }).then(function (response) {
        if (response.status === data.status) again();
        else location.reload();
      }, again);
  }, 1000 * data.refresh_seconds);
})();
