// Keeps an admitted visitor's place while they are there: <script src=".../keepalive.js" data-queue="acme-tour" defer>
// Attributes: data-idle, minutes without a sign of life before it stops (5); data-lang, the language of its two bars.
// Events on document: vestibule:alive, vestibule:expiring {expiresIn} and vestibule:lost; the last two cancelable.
(() => {
  const d = document, me = d.currentScript, { queue, idle = 5, lang = d.documentElement.lang } = me.dataset;
  const base = new URL(me.src).origin, url = base + '/_vestibule/keepalive?queue=' + encodeURIComponent(queue);
  const words = {
    en: ['Are you still there?', 'I’m still here', 'Your visit has ended.', 'Back to the line'],
    de: ['Sind Sie noch da?', 'Ja, ich bin da', 'Ihr Besuch ist beendet.', 'Zurück zur Schlange'],
    fr: ['Êtes-vous toujours là ?', 'Je suis là', 'Votre visite est terminée.', 'Retour à la file'],
    es: ['¿Sigue ahí?', 'Sigo aquí', 'Su visita ha terminado.', 'Volver a la cola'],
    nl: ['Bent u er nog?', 'Ik ben er nog', 'Uw bezoek is afgelopen.', 'Terug naar de rij'],
    cy: ['Ydych chi yno o hyd?', 'Ydw, rydw i yma', 'Mae eich ymweliad ar ben.', 'Yn ôl i’r ciw'],
  };
  const text = words[lang.slice(0, 2).toLowerCase()] || words.en;
  // In milliseconds: the last sign of life, the end of the place (0 before the first answer), when to send next.
  let seen = Date.now(), end = 0, next = 0, busy, warned, over, bar;
  const emit = (name, detail) => d.dispatchEvent(new CustomEvent('vestibule:' + name, { detail, cancelable: true }));
  const hide = () => { bar?.remove(); warned = 0; };
  const show = (line, label, href) => {
    bar?.remove();
    bar = d.createElement('div');
    const go = d.createElement(href ? 'a' : 'button');
    bar.setAttribute('role', 'alertdialog');
    bar.setAttribute('aria-label', line);
    go.textContent = label;
    if (href) go.href = href;
    bar.style.cssText = 'all:initial;position:fixed;inset:auto 0 0;z-index:2147483647;padding:1rem;display:flex;gap:1rem;flex-wrap:wrap;align-items:center;justify-content:center;font:1rem system-ui;background:#111;color:#fff';
    go.style.cssText = 'font:inherit;padding:.6rem 1rem;border:0;border-radius:.5rem;background:#fff;color:#111';
    bar.append(line, go);
    d.body.append(bar);
    go.focus({ preventScroll: true });
  };
  const send = async () => {
    if (busy || over) return;
    busy = 1;
    next = Date.now() + 15e3;
    try {
      const s = await (await fetch(url, { method: 'POST', credentials: 'include' })).json();
      if (s.state == 'admitted') {
        const left = (s.expires_in || 600) * 1e3;
        end = Date.now() + left;
        next = Date.now() + Math.max(2e3, Math.min(s.poll_after * 1e3 || 6e4, left / 3));
        hide();
        emit('alive', s);
      } else if (s.state && s.state != 'unavailable') {
        over = 1;
        hide();
        // A page that never had a place has none to lose.
        if (end && emit('lost', s)) show(text[2], text[3], base + location.pathname + location.search);
      }
    } catch { /* tried again at `next` */ }
    busy = 0;
  };
  const tick = () => {
    const now = Date.now(), left = end - now;
    if (now - seen < idle * 6e4 || end && left < 0) { if (now >= next) send(); }
    else if (end && !warned && left < 6e4) {
      warned = 1;
      if (emit('expiring', { expiresIn: Math.ceil(left / 1e3) })) show(text[0], text[1]);
    }
  };
  // A pointer on its way to the bar must not take it away: the click would land beneath. So only clicks count then.
  const alive = ({ type }) => {
    if (warned && type == 'pointermove') return;
    seen = Date.now();
    if (warned) { next = 0; hide(); }
  };
  for (const name of ['click', 'pointermove', 'keydown', 'scroll'])
    addEventListener(name, alive, { passive: true, capture: true });
  d.addEventListener('visibilitychange', () => { if (!d.hidden) alive({}); });
  setInterval(tick, 1e3);
  send();
})();
