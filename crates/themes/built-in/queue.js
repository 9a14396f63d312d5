// The queue page's script: polls the visitor status, shows it, and enters the site when the visitor is admitted.
// The same file is also its worker, because browsers throttle the timers of a hidden page but not those of a worker.
(() => {
  'use strict';
  if (typeof document === 'undefined') {
    const timers = {};
    onmessage = ({ data: [name, delay] }) => {
      clearTimeout(timers[name]);
      timers[name] = setTimeout(() => postMessage(name), delay);
    };
    return;
  }
  const block = document.getElementById('vestibule-data');
  if (!block) return;

  const page = JSON.parse(block.textContent);
  const texts = page.texts;
  const root = document.documentElement;
  const numbers = new Intl.NumberFormat(page.lang);
  const plurals = new Intl.PluralRules(page.lang);
  const BACKOFF_FIRST = 2, BACKOFF_MAX = 30, DELAY_MAX = 300, POLL_GAP_MS = 1000, FETCH_MS = 10000;
  const ENTER_MS = 1500, ANNOUNCE_MS = 60000, STEADY_MS = 30000;
  // Times are formatted for the visitor's region if its language is the page's.
  const region = navigator.languages?.find((tag) => tag.split('-')[0] === page.lang) ?? page.lang;
  const clock = (at) => new Intl.DateTimeFormat(region, { timeStyle: 'short' }).format(at);
  const visible = () => document.visibilityState === 'visible';

  // Storage fails where cookies are blocked: `get` then returns `undefined`, and `null` for a missing key.
  const key = (name) => `vestibule:${page.queue}:${name}`;
  const store = {
    get(name) { try { return sessionStorage.getItem(key(name)); } catch { return undefined; } },
    set(name, value) { try { sessionStorage.setItem(key(name), value); } catch { /* the page says that cookies are blocked */ } },
    drop(name) { try { sessionStorage.removeItem(key(name)); } catch { /* nothing was stored */ } },
  };

  const all = (name) => document.querySelectorAll(`[data-vestibule~="${name}"]`);
  const write = (name, text) => all(name).forEach((el) => { if (el.textContent !== text) el.textContent = text; });
  const show = (name, on) => all(name).forEach((el) => { el.hidden = !on; });
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  const plural = (forms, n, values) => fill(forms[plurals.select(n)] ?? forms.other,
    { n: numbers.format(n), ...values });

  // Timers run in the worker; a later timer in the page takes over if there is no worker or it does not respond.
  const LATE_MS = 5000;
  const due = {}, local = {}, actions = {};
  let worker = null;
  const run = (name) => {
    if (!(name in due)) return;
    delete due[name];
    clearTimeout(local[name]);
    actions[name]();
  };
  const arm = (name, delay) => {
    clearTimeout(local[name]);
    worker?.postMessage([name, delay]);
    local[name] = setTimeout(run, worker ? delay + LATE_MS : delay, name);
  };
  const after = (name, delay) => { due[name] = Date.now() + delay; arm(name, delay); };
  try {
    worker = new Worker(document.currentScript.src);
    worker.onmessage = ({ data }) => run(data);
    worker.onerror = () => {
      worker = null;
      for (const name in due) arm(name, Math.max(0, due[name] - Date.now()));
    };
  } catch { worker = null; }

  // Rounds as the server does: the upper bound is never below p90, the lower never above p50. Returns the text and its
  // bounds in seconds.
  const roundWait = ({ p50, p90: given }) => {
    const words = texts.wait, p90 = Math.max(p50, given), H = 3600;
    if (p90 < 60) return [words.less_than_minute, 0, 60];
    const minutes = p90 / 60;
    const step = minutes <= 10 ? 1 : minutes <= 60 ? 5 : 10;
    const to = Math.ceil(minutes / step) * step;
    if (to > 90) {
      const hours = Math.floor(p50 / 3600), from = Math.floor(p50 / 300) * 5;
      if (hours) return [plural(words.more_than_hours, hours), hours * H, Infinity];
      if (from) return [plural(words.more_than_minutes, from), from * 60, Infinity];
      return [plural(words.up_to_hours, Math.ceil(p90 / H)), 0, Math.ceil(p90 / H) * H];
    }
    const from = Math.floor(p50 / 60 / step) * step;
    const bounds = [from * 60, to * 60];
    if (!from) return [plural(words.up_to_minutes, to), ...bounds];
    if (from === to) return [plural(words.minutes, to), ...bounds];
    return [plural(words.range, to, { from: numbers.format(from), to: numbers.format(to) }), ...bounds];
  };
  // A text that is still true stays for STEADY_MS, so that the wait does not flicker.
  let shownWait = null;
  const waitWords = (wait) => {
    const kept = shownWait, shown = all('wait')[0]?.textContent;
    if (kept && shown === kept.text && Date.now() - kept.at < STEADY_MS
      && wait.p50 >= kept.from && Math.max(wait.p50, wait.p90) <= kept.to) return kept.text;
    const [text, from, to] = roundWait(wait);
    shownWait = { text, from, to, at: Date.now() };
    return text;
  };

  // The live region announces state changes at once, and progress once a minute.
  let spokenAt = Date.now();
  const announce = (text) => { spokenAt = Date.now(); write('live', text); };

  // First and lowest position of this session: the progress bar starts at the first; the position shown never rises.
  let seen = null;
  const track = (session, position) => {
    if (!seen) try { seen = JSON.parse(store.get('seen')); } catch { seen = null; }
    if (seen?.session !== session) seen = { session, first: position, low: position };
    seen.low = Math.min(seen.low, position);
    store.set('seen', JSON.stringify(seen));
    return seen;
  };

  // Heading and lead; the server chooses in the same way.
  const said = ({ state, session }) => {
    if (state === 'left') return texts.left;
    if (state === 'unavailable' && !session) return texts.newcomer;
    const next = state === 'waiting' && shownPosition && shownPosition < page.next_below;
    return { heading: texts.heading[state], lead: next ? texts.next : texts.lead[state] };
  };

  let shownState = page.state, shownPosition = null, spokenPosition = null;
  const render = (status) => {
    const { state } = status;
    if (status.position) renderPlace(status);
    const inLine = status.position && state !== 'admitted';
    const waits = status.session && state !== 'admitted';
    const { heading, lead: form } = said(status);
    const lead = fill(form, { brand: page.brand, name: page.name });
    root.dataset.state = state;
    write('heading', heading);
    write('lead', lead);
    show('position-section', inLine);
    show('enter', state === 'admitted');
    show('hold-notice', waits);
    show('leave', waits && state !== 'unavailable');
    show('notify', waits && mayNotify());
    if (state !== 'waiting') show('reason', false);
    const wait = status.wait_seconds && inLine ? waitWords(status.wait_seconds) : '';
    write('wait', wait);
    show('wait-row', !!wait);
    const title = inLine ? numbers.format(shownPosition) : state === 'admitted' ? `● ${heading}` : heading;
    document.title = `${title} · ${page.brand}`;
    if (state !== shownState) announce(`${heading}. ${lead}`);
    else if (inLine && shownPosition !== spokenPosition && Date.now() - spokenAt > ANNOUNCE_MS) {
      spokenPosition = shownPosition;
      announce(`${texts.position_label}: ${numbers.format(shownPosition)}. ${wait && `${texts.wait_label}: ${wait}.`}`);
    }
    shownState = state;
  };

  const renderPlace = ({ session, position, waiting }) => {
    const { first, low } = track(session, position);
    shownPosition = low;
    const text = numbers.format(low);
    all('position').forEach((el) => { el.dataset.digits = text.length; });
    write('position', text);
    const behind = waiting === null ? null : Math.max(0, waiting - position);
    show('behind-row', behind !== null);
    if (behind !== null) write('behind', behind ? plural(texts.behind, behind) : texts.behind_none);
    all('progress').forEach((el) => { el.value = (first - low) / first; el.hidden = first < 2; });
  };

  // No away beacon when the page navigates by itself: the visitor enters the site, or the page reloads.
  let leaving = false, stopped = false;
  const reload = () => { leaving = true; location.reload(); };

  // Navigates to the requested URL. Usually it is this one: then a reload keeps the fragment.
  // A hidden tab delays entering, so that a visitor who returns finds the admission unused.
  const enter = () => {
    stopped = true;
    const target = new URL(page.enter_url || location.href, location.href);
    if (!/^https?:$/.test(target.protocol)) return;
    target.hash = '';
    const here = target.href === location.href.split('#')[0];
    actions.enter = () => {
      if (here) return reload();
      leaving = true;
      location.replace(target.href);
    };
    all('enter-link').forEach((el) => {
      el.href = target.href;
      el.onclick = (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        actions.enter();
      };
    });
    const look = () => {
      if (!visible()) return;
      all('enter-link')[0]?.focus();
      after('enter', ENTER_MS);
    };
    if (visible()) return look();
    after('enter', Math.max(ENTER_MS, page.hold_admission * 1000));
    document.addEventListener('visibilitychange', look, { once: true });
    notify();
  };

  // Notifies only visitors who asked for it. Phones refuse notifications without a service worker.
  const mayNotify = () => 'Notification' in window && isSecureContext
    && Notification.permission !== 'denied' && !store.get('notify');
  const notify = () => {
    if (!store.get('notify') || !('Notification' in window) || Notification.permission !== 'granted') return;
    try {
      const notice = new Notification(texts.heading.admitted, { body: page.brand, tag: key('admitted') });
      notice.onclick = () => { focus(); notice.close(); };
    } catch { /* the tab's title shows it */ }
  };
  all('notify').forEach((el) => {
    el.onclick = async () => {
      const given = await Notification.requestPermission();
      if (given === 'granted') {
        store.set('notify', '1');
        announce(texts.notify_on);
      }
      show('notify', false);
    };
  });

  // Leaving: the server ends the session, and the page offers to join again.
  all('leave').forEach((el) => {
    el.onclick = async () => {
      if (!confirm(texts.leave_confirm)) return;
      try {
        const response = await fetch(page.leave_url, { method: 'POST', credentials: 'same-origin' });
        if (!response.ok) throw new Error('not left');
      } catch { return offline(true); }
      stopped = leaving = true;
      render({ state: 'left' });
      document.title = `${texts.left.heading} · ${page.brand}`;
      show('rejoin', true);
      all('rejoin')[0]?.querySelector('a')?.focus();
    };
  });

  // The server does not know this page's session: reload once to join again. If that fails, cookies are blocked.
  const unknown = () => {
    if (navigator.cookieEnabled && store.get('rejoin') === null) {
      store.set('rejoin', '1');
      return reload();
    }
    stopped = true;
    show('cookies-blocked', true);
    write('live', all('cookies-blocked')[0]?.textContent ?? '');
  };

  const settle = (status) => {
    const { state, session } = status;
    if (page.state === 'closed' ? state !== 'closed' : state === 'closed') return reload();
    if (state === 'closed') return;
    if ((state === 'waiting' || state === 'paused') && (!session || session !== page.session)) return unknown();
    if (session) store.drop('rejoin');
    render(status);
    if (state === 'admitted') enter();
  };

  let failures = 0, busy = false, polledAt = 0, updatedAt = page.state === 'unavailable' ? 0 : Date.now();
  const updates = all('auto-update')[0]?.textContent ?? '';
  const offline = (on, stale = on) => {
    if (on && !failures) announce(all('offline')[0]?.textContent.trim() ?? '');
    show('offline', on && !!page.session);
    root.toggleAttribute('data-offline', stale);
    write('auto-update', stale && updatedAt ? fill(texts.last_updated, { time: clock(updatedAt) }) : updates);
  };

  const retryAfter = (response) => {
    const value = response?.headers.get('Retry-After');
    const seconds = value ? (/^\d+$/.test(value) ? +value : (Date.parse(value) - Date.now()) / 1000) : 0;
    return seconds > 0 ? seconds : 0;
  };

  const ask = async () => {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), FETCH_MS);
    let response;
    try {
      response = await fetch(page.status_url, { credentials: 'same-origin', cache: 'no-store', signal: stop.signal,
        headers: { Accept: 'application/json' } });
      const status = await response.json();
      if (!(status.state in texts.heading)) throw new Error('no visitor status');
      return { status, delay: Math.max(status.poll_after || 1, retryAfter(response)) };
    } catch {
      return { status: null, delay: retryAfter(response) };
    } finally { clearTimeout(timer); }
  };

  const poll = async () => {
    if (busy || stopped || leaving) return;
    busy = true;
    polledAt = Date.now();
    let { status, delay } = await ask();
    busy = false;
    if (leaving) return;
    if (status && status.state !== 'unavailable') updatedAt = Date.now();
    offline(!status, status?.state === 'unavailable' || !status);
    if (status) {
      failures = 0;
      settle(status);
    } else {
      const backoff = Math.min(BACKOFF_MAX, BACKOFF_FIRST * 2 ** failures++);
      delay = Math.max(delay, backoff * (0.5 + Math.random() / 2));
    }
    if (!stopped && !leaving) after('poll', Math.min(delay, DELAY_MAX) * 1000);
  };
  actions.poll = poll;
  const pollNow = () => { if (Date.now() - polledAt > POLL_GAP_MS) poll(); };

  // After a failure poll at once, even if the last poll was a moment ago: the connection is back.
  addEventListener('online', () => { if (failures) poll(); else pollNow(); });
  addEventListener('pageshow', (event) => { if (event.persisted) { leaving = stopped = false; poll(); } });
  document.addEventListener('visibilitychange', () => { if (visible()) pollNow(); });
  addEventListener('pagehide', () => {
    if (leaving || shownState === 'admitted') return;
    store.set('left', '1');
    navigator.sendBeacon?.(page.away_url);
  });

  // The away beacon of the page before this one may arrive after this page was served, so renew the presence soon.
  const returned = store.get('left');
  store.drop('left');
  if (page.kept_seconds) write('position-kept', fill(texts.position_kept_until, { time: clock(Date.now() + page.kept_seconds * 1000) }));
  if (page.state === 'admitted') enter();
  else {
    if (page.position) renderPlace(page);
    show('leave', page.session && page.state !== 'unavailable' && page.state !== 'closed');
    show('notify', page.session && page.state !== 'closed' && mayNotify());
    after('poll', returned ? POLL_GAP_MS : page.poll_after * 1000);
  }
})();
