// Reloads a page without a script that runs, as a browser without JavaScript does: the page of a rejection, or the queue page if its
// script was not loaded or the browser is too old for it. A reload without a connection would replace the page with an error. Written for every browser.
setInterval(function () {
  if (navigator.onLine && !window.vestibuleRuns) location.reload();
}, 1000 * JSON.parse(document.getElementById('vestibule-data').text).refresh_seconds);
