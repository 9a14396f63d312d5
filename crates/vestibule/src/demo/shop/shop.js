// The shop's own script: shows how many visitors are in the shop, and ends the session when the visitor is done.
(() => {
  const leave = () => fetch('/_vestibule/leave?queue=demo', { method: 'POST' });
  const inside = document.querySelector('[data-inside]');

  // Sent by the gate's keepalive.js with each response: the visitor status.
  document.addEventListener('vestibule:alive', ({ detail: { active, waiting } }) => {
    if (!active) return;
    const others = waiting === 1 ? '1 person waits outside' : `${waiting || 'Nobody'}${waiting ? ' people wait' : ' waits'} outside`;
    inside.textContent = active === 1
      ? `You have the shop to yourself. ${others}.`
      : `You are one of ${active} people in the shop. ${others}.`;
    inside.hidden = false;
  });

  document.querySelector('[data-leave]')?.addEventListener('click', async ({ target }) => {
    target.disabled = true;
    await leave().catch(() => undefined);
    location.href = '/goodbye';
  });

  // Visitors are done after a purchase: the next one in line gets the slot.
  if (document.querySelector('[data-thanks]')) {
    leave().then((answer) => {
      if (answer.ok) document.querySelectorAll('[data-left]').forEach((line) => { line.hidden = false; });
    });
  }
})();
