// Renews an admitted visitor's session while they use the site: <script src=".../keepalive.js" data-queue="acme-tour" defer>
// Attributes: data-idle, minutes without activity before it stops (5); data-lang, the language of its two bars.
// vestibule.fetch(): a fetch for held orders, which waits for the response of the site.
// Events on document: vestibule:alive, vestibule:expiring {expiresIn} and vestibule:lost; the last two cancelable.
(() => {
  const d = document, me = d.currentScript, { queue, idle = 5, lang = d.documentElement.lang } = me.dataset;
  const base = new URL(me.src).origin, url = base + '/_vestibule/keepalive?queue=' + encodeURIComponent(queue);
  const words = {
    en: ['Your session ends in #.', 'Stay', 'Your session has ended.', 'Rejoin the line'],
    de: ['Ihre Sitzung endet in #.', 'Bleiben', 'Ihre Sitzung ist beendet.', 'Erneut anstellen'],
    fr: ['Votre session se termine dans #.', 'Rester', 'Votre session est terminée.', 'Rejoindre la file'],
    es: ['Su sesión termina en #.', 'Seguir', 'Su sesión ha terminado.', 'Volver a la cola'],
    nl: ['Uw sessie eindigt over #.', 'Blijven', 'Uw sessie is beëindigd.', 'Opnieuw aansluiten'],
    cy: ['Bydd eich sesiwn yn dod i ben mewn #.', 'Aros', 'Mae eich sesiwn ar ben.', 'Ailymuno â’r ciw'],
    pt: ['A sua sessão termina em #.', 'Continuar', 'A sua sessão terminou.', 'Entrar na fila novamente'],
    it: ['La sua sessione scade tra #.', 'Rimani', 'La sua sessione è terminata.', 'Torna in coda'],
    pl: ['Twoja sesja skończy się za #.', 'Zostań', 'Twoja sesja się skończyła.', 'Dołącz do kolejki ponownie'],
    tr: ['Oturumunuzun bitmesine kalan süre: #.', 'Devam edin', 'Oturumunuz sona erdi.', 'Yeniden sıraya girin'],
    ar: ['تنتهي جلستك خلال #.', 'البقاء', 'انتهت جلستك.', 'الانضمام إلى القائمة مجددًا'],
    ja: ['セッション終了まで # です。', '続ける', 'セッションが終了しました。', 'もう一度並ぶ'],
    ko: ['세션 종료까지 # 남았습니다.', '계속 이용', '세션이 종료되었습니다.', '다시 대기하기'],
    zh: ['您的会话将在 # 后结束。', '继续使用', '您的会话已结束。', '重新排队'],
    'zh-hant': ['您的工作階段將在 # 後結束。', '繼續使用', '您的工作階段已結束。', '重新排隊'],
  };
  const tag = lang.toLowerCase(), own = /^zh-(?!hans).*(hant|tw|hk|mo)/.test(tag) ? 'zh-hant' : tag.split('-')[0];
  const code = words[own] ? own : 'en', text = words[code];
  // In milliseconds: last activity, end of the session (0 before the first response), time of the next request.
  let seen = Date.now(), end = 0, next = 0, wrong = 0, busy, warned, over, bar, says, before;
  const emit = (name, detail) => d.dispatchEvent(new CustomEvent('vestibule:' + name, { detail, cancelable: true }));
  // Delayed, or the key that closed the bar would act on the element that gets the focus.
  const back = (to) => setTimeout(() => { if (d.activeElement == d.body) to?.focus({ preventScroll: true }); }, 300);
  const hide = () => { bar?.contains(d.activeElement) && back(before); bar?.remove(); bar = warned = null; };
  const ends = (left) => text[0].replace('#', (left / 6e4 | 0) + ':' + `${left / 1e3 % 60 | 0}`.padStart(2, 0));
  const show = (line, label, href) => {
    hide();
    before = d.activeElement;
    // A visitor who is typing keeps the focus: the bar is only announced.
    const typing = before?.matches('input,textarea,select,iframe,[contenteditable]');
    bar = d.createElement('div');
    bar.lang = code;
    bar.dir = code == 'ar' ? 'rtl' : 'ltr';
    says = d.createElement('span');
    const go = d.createElement(href ? 'a' : 'button');
    bar.setAttribute('role', typing ? 'alert' : 'alertdialog');
    bar.setAttribute('aria-label', says.textContent = line);
    go.textContent = label;
    if (href) go.href = href;
    bar.style.cssText = 'all:initial;position:fixed;inset:auto 0 0;z-index:2147483647;padding:1rem;display:flex;gap:1rem;flex-wrap:wrap;align-items:center;justify-content:center;font:1rem system-ui;background:#111;color:#fff';
    go.style.cssText = 'font:inherit;padding:.6rem 1rem;border:0;border-radius:.5rem;background:#fff;color:#111';
    bar.append(says, go);
    d.body.append(bar);
    typing || go.focus({ preventScroll: true });
  };
  const send = async () => {
    if (busy || over) return;
    busy = 1;
    next = Date.now() + 15e3;
    try {
      const s = await (await fetch(url, { method: 'POST', credentials: 'include' })).json();
      // A gate that does not have a new queue yet knows none for a moment.
      if (!end && s.code == 'unknown_queue' && ++wrong > 2) {
        over = 1;
        console.error(`keepalive.js: ${queue}: ${s.detail}`);
      }
      if (s.state == 'admitted') {
        const left = (s.expires_in || 600) * 1e3;
        end = Date.now() + left;
        next = Date.now() + Math.max(2e3, Math.min(s.poll_after * 1e3 || 6e4, left / 3));
        hide();
        emit('alive', s);
      } else if (s.state && s.state != 'unavailable') {
        over = 1;
        hide();
        // Only a page that had a session can lose it.
        if (end && emit('lost', s)) show(text[2], text[3], base + location.pathname + location.search);
      }
    } catch { /* retried at `next` */ }
    busy = 0;
  };
  const tick = () => {
    if (over) return;
    const now = Date.now(), left = end - now;
    if (warned && bar) { bar.ariaLive = 'off'; says.textContent = ends(Math.max(left, 0)); }
    if (now - seen < idle * 6e4 || end && left < 0) { if (now >= next) send(); }
    else if (end && !warned && left < 6e4) {
      if (emit('expiring', { expiresIn: Math.ceil(left / 1e3) })) show(ends(left), text[1]);
      warned = 1;
    }
  };
  // While the bar is shown, moving the pointer does not count: the bar would close under the pointer.
  const alive = ({ type }) => {
    if (warned && type == 'pointermove') return;
    seen = Date.now();
    if (warned) { next = 0; hide(); }
  };
  const pause = (seconds) => new Promise((go) => setTimeout(go, seconds * 1e3));
  // A fetch that follows a held order to the response of the site.
  const fetchOrder = async (...order) => {
    let response = await fetch(...order), url;
    while (response.status == 202 && response.headers.get('x-job-id') && (url = response.headers.get('location'))) {
      await pause(+response.headers.get('retry-after') || 2);
      // Without a connection the order goes on, so looking for it does, too.
      try { response = await fetch(new URL(url, response.url), { credentials: 'include' }); } catch { /* again */ }
    }
    return response;
  };
  window.vestibule = { ...window.vestibule, fetch: fetchOrder };
  for (const name of ['click', 'pointermove', 'keydown', 'scroll'])
    addEventListener(name, alive, { passive: true, capture: true });
  d.addEventListener('visibilitychange', () => { if (!d.hidden) alive({}); });
  setInterval(tick, 1e3);
  send();
})();
