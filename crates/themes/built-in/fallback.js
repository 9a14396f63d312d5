// Reloads the queue page if its script does not run, as a browser without JavaScript does: the script was not loaded, or the
// browser is too old for it. Written for every browser.
(function () {
  var seconds = JSON.parse(document.getElementById('vestibule-data').textContent).refresh_seconds;
  // A reload without a connection would replace the page with an error.
  if (seconds) setInterval(function () {
    if (navigator.onLine !== false && !document.documentElement.hasAttribute('data-script')) location.reload();
  }, 1000 * seconds);
})();
