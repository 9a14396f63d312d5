// The queue page's script: polls the visitor status, shows it, and enters the site when the visitor is admitted.
// The same file is also its worker, because browsers throttle the timers of a hidden page but not those of a worker, and the
// worker that solves a challenge of a newcomer, which would stop the page.
(() => {
  'use strict';
  if (typeof document === 'undefined') {
    const timers = {};
    const startTimer = ([name, delay]) => {
      clearTimeout(timers[name]);
      timers[name] = setTimeout(() => postMessage(name), delay);
    };
    // Derives the keys of every `step`-th counter from `first` on, until one has the prefix of the challenge.
    const REPORT = 20;
    const bytes = (digits) => Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));
    const solve = async ({ nonce, salt, cost, keyLength, keyPrefix, data: { max_counter: last } }, first, step) => {
      const start = bytes(nonce), password = new Uint8Array(start.length + 4), view = new DataView(password.buffer);
      const terms = { name: 'PBKDF2', hash: 'SHA-256', salt: bytes(salt), iterations: cost };
      password.set(start);
      for (let counter = first, tried = 1; counter <= last; counter += step, tried++) {
        view.setUint32(start.length, counter);
        const key = await crypto.subtle.importKey('raw', password, 'PBKDF2', false, ['deriveBits']);
        const derived = new Uint8Array(await crypto.subtle.deriveBits(terms, key, 8 * keyLength));
        const derivedKey = Array.from(derived, (byte) => byte.toString(16).padStart(2, '0')).join('');
        if (derivedKey.startsWith(keyPrefix)) return postMessage({ counter, derivedKey });
        if (tried % REPORT === 0) postMessage(REPORT);
      }
    };
    onmessage = ({ data }) => {
      if (Array.isArray(data)) startTimer(data);
      else solve(data.parameters, data.first, data.step).catch(() => postMessage(null));
    };
    return;
  }
  const block = document.getElementById('vestibule-data');
  if (!block) return;

  const page = JSON.parse(block.textContent);
  const texts = page.texts;
  const root = document.documentElement;
  // Digits are Latin in every language, as on the server.
  const digits = { numberingSystem: 'latn' };
  // Browsers without data of a language (Welsh) write times and numbers as in Britain, and the time until a start in digits.
  const locale = Intl.NumberFormat.supportedLocalesOf(page.lang)[0] ?? 'en-GB';
  const numbers = new Intl.NumberFormat(locale, digits);
  const plurals = new Intl.PluralRules(page.lang);
  const BACKOFF_FIRST = 2, BACKOFF_MAX = 30, DELAY_MAX = 300, POLL_GAP_MS = 1000, FETCH_MS = 10000, COOKIES_S = 10;
  const ENTER_MS = 1500, ANNOUNCE_MS = 60000, STEADY_MS = 30000;
  // The end of a turn is shown with seconds if it is this near.
  const SECONDS_MS = 300000, SOUND_LATE_MS = 1000;
  // Times are formatted for the visitor's region if its language is the page's.
  const written = (tag) => {
    // Some browsers list what is no language tag.
    try {
      const { language, script } = new Intl.Locale(tag).maximize();
      return language + script;
    } catch { return tag; }
  };
  const region = navigator.languages?.find((tag) => written(tag) === written(locale)) ?? locale;
  const clock = (at, timeStyle = 'short') => new Intl.DateTimeFormat(region, { timeStyle, ...digits }).format(at);
  const visible = () => document.visibilityState === 'visible';

  // Storage fails where cookies are blocked, which the page says: `get` then returns `undefined`, and `null` for a missing key.
  const key = (name) => `vestibule:${page.queue}:${name}`;
  const store = {
    get(name) { try { return sessionStorage.getItem(key(name)); } catch { return undefined; } },
    set(name, value) { try { sessionStorage.setItem(key(name), value); } catch { } },
    drop(name) { try { sessionStorage.removeItem(key(name)); } catch { } },
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
  const scriptUrl = document.currentScript.src;
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
  const cancel = (name) => { delete due[name]; clearTimeout(local[name]); };
  try {
    worker = new Worker(scriptUrl);
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

  // First and lowest position of this session: the progress bar starts at the first; the position shown never rises. The session of
  // an account or a code can join again.
  let seen = null;
  const track = ({ session, joined_at, position }) => {
    if (!seen) try { seen = JSON.parse(store.get('seen')); } catch { seen = null; }
    if (seen?.session !== session || seen.joined_at !== joined_at) seen = { session, joined_at, first: position, low: position };
    seen.low = Math.min(seen.low, position);
    store.set('seen', JSON.stringify(seen));
    return seen;
  };

  // The countdown to the start of an event, and then to the end of its draw. It starts from the server's number of seconds,
  // as the visitor's clock may be wrong, and follows a clock that nobody can set.
  const DAY = 86400, SPOKEN = [0, 10, 60, 300, 600];
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  // A newcomer comes back with a pre-ticket to join.
  const redeems = ({ join }) => join?.action === 'redeem';
  // A newcomer solves a challenge to join. Browsers have the necessary functions on secure pages only.
  const proves = ({ join }) => join?.action === 'prove';
  let canSolve = !!worker && !!window.crypto?.subtle;
  const upcoming = ({ state, event }) => (['paused', 'closed', 'lobby'].includes(state) && event?.starts_in > 0 ? event : null);
  const isDrawn = ({ event }) => event?.order === 'draw';
  // An operator can pause a queue in its lobby; its visitors then have no presence that could expire.
  const isInLobby = ({ state, session, position, expires_in: left }) => state === 'lobby'
    || (state === 'paused' && !!session && !position && left == null);
  const startTime = ({ starts_at: at, starts_in: left }) => {
    const start = new Date(at * 1000), now = new Date((at - left) * 1000);
    if (start.toDateString() === now.toDateString()) return clock(start);
    return new Intl.DateTimeFormat(region, { dateStyle: 'medium', timeStyle: 'short', ...digits }).format(start);
  };
  const unit = (n, name) => new Intl.NumberFormat(page.lang, { style: 'unit', unit: name, unitDisplay: 'long', ...digits }).format(n);
  const inWords = (s) => {
    if (locale === 'en-GB') return inDigits(s < 60 ? s : Math.ceil(s / 60) * 60);
    if (s < 60) return unit(s, 'second');
    if (s < 7200) return unit(Math.ceil(s / 60), 'minute');
    return s < 2 * DAY ? unit(Math.ceil(s / 3600), 'hour') : unit(Math.ceil(s / DAY), 'day');
  };
  const inDigits = (s) => {
    const two = (n) => String(n).padStart(2, '0');
    const hours = Math.floor(s / 3600), minutes = Math.floor(s / 60) % 60;
    return hours ? `${hours}:${two(minutes)}:${two(s % 60)}` : `${minutes}:${two(s % 60)}`;
  };
  const countdown = (s) => {
    if (s >= 2 * DAY) return inWords(s);
    if (still) return s < 60 ? texts.wait.less_than_minute : inWords(s);
    return inDigits(s);
  };
  // The status that is counted down, when the event starts, and what the countdown leads to: the time and its texts.
  let counted = null, startsAt = null, goal = null, shownLeft = null;
  const tick = () => {
    const left = Math.max(0, Math.ceil((goal.at - performance.now()) / 1000));
    write('countdown', countdown(left));
    const mark = SPOKEN.find((seconds) => left <= seconds && shownLeft > seconds);
    shownLeft = left;
    // A device that slept, or a start that was moved, skips marks.
    if (mark !== undefined) announce(mark ? `${goal.label} ${inWords(left)}` : goal.end);
    if (left) after('tick', ((goal.at - performance.now()) % 1000) + 1);
    else if (counted.state === 'lobby') renderEvent(later(counted));
  };
  actions.tick = tick;
  const drawSeconds = ({ starts_in: start, draw_ends_in: end }) => Math.max(0, Math.round(end - start));
  // The end of a draw is unknown until its beacon is recorded. Visitors who have joined the line meanwhile have a presence.
  const awaitsBeacon = ({ event, expires_in: left }) => isDrawn({ event }) && event.draw_ends_in == null && left == null;
  // A status of the lobby as it is now.
  const later = (status) => {
    const left = Math.floor(startsAt - performance.now()) / 1000, { event } = status;
    const end = event.draw_ends_in == null ? null : left + drawSeconds(event);
    return { ...status, event: { ...event, starts_in: left, draw_ends_in: end } };
  };
  // Heading, lead and countdown: all that changes between two polls, and on a page that only counts down.
  const renderEvent = (status) => {
    const { state, event } = counted = status, start = upcoming(status);
    const left = start ? event.starts_in : state === 'lobby' ? event?.draw_ends_in : 0;
    const { heading, lead: form } = said(status);
    const lead = fill(form, { brand: page.brand, name: page.name });
    write('heading', heading);
    write('lead', lead);
    show('countdown-row', left > 0);
    if (event) startsAt = performance.now() + 1000 * event.starts_in;
    if (left > 0) {
      const { countdown: label, starting } = isDrawn(status) ? texts.draw : texts.event;
      goal = start ? { label: texts.event.countdown, end: starting } : { label, end: texts.draw.admitting };
      goal.at = performance.now() + 1000 * left;
      write('countdown-label', goal.label);
      tick();
    } else cancel('tick');
    if (!shownPosition) entitle(heading);
    return { heading, lead };
  };

  // Heading and lead; the server chooses in the same way.
  const said = (status) => {
    const { state, session } = status, event = upcoming(status);
    if (event) {
      const heading = fill(texts.event.starts, { event: event.name, time: startTime(event) });
      const { lobby, closed, ahead = lobby } = isDrawn(status) ? texts.draw : texts.event;
      return { heading, lead: state === 'closed' ? closed : state === 'lobby' ? lobby : ahead };
    }
    if (state === 'left' || state === 'expired') return texts[state];
    if (state === 'unavailable' && !session) return texts.newcomer;
    if (redeems(status)) return { heading: texts.newcomer.heading, lead: texts.pre_ticket };
    if (proves(status)) return { heading: texts.newcomer.heading, lead: canSolve ? texts.prove : texts.prove_later };
    if (state === 'paused' && isInLobby(status)) return { heading: texts.heading[state], lead: texts.draw.paused };
    const next = state === 'waiting' && status.wait_seconds?.p90 <= page.next;
    return { heading: texts.heading[state], lead: next ? texts.next : texts.lead[state] };
  };

  // Without the characters that isolate names in right-to-left languages.
  const entitle = (text) => { document.title = `${text.replace(/[\u2068\u2069]/g, '')} · ${page.brand}`; };

  let shownState = page.state, shownPosition = null, spokenPosition = null, spokenNumber = page.event?.number;
  const render = (status) => {
    const { state, event } = status;
    if (status.position) renderPlace(status);
    const inLine = status.position && state !== 'admitted';
    const waits = status.session && state !== 'admitted';
    const inLobby = isInLobby(status), drawn = isDrawn(status);
    const { heading, lead } = renderEvent(status);
    root.dataset.state = state;
    const number = waits && event?.number ? fill(texts.draw.number, event) : '';
    write('number', number);
    show('number', !!number);
    write('hold', inLobby ? texts.draw_hold_notice : texts.hold_notice);
    write('reload', inLobby ? texts.draw.reload : texts.reload_notice);
    write('order', drawn ? texts.draw.fair : texts.order_notice);
    show('how-fair', drawn);
    show('position-section', inLine);
    show('enter', state === 'admitted');
    show('hold-notice', waits);
    show('leave', waits && state !== 'unavailable' && !inLobby);
    for (const name of ['notify', 'notify-state']) show(name, waits);
    if (state !== 'waiting') show('reason', false);
    const wait = status.wait_seconds && inLine ? waitWords(status.wait_seconds) : '';
    write('wait', wait);
    show('wait-row', !!wait);
    entitle(inLine ? numbers.format(shownPosition) : state === 'admitted' ? `● ${heading}` : heading);
    // The draw ends with a position, which is what its visitors wait for, and so does a join.
    const words = [], changed = state !== shownState;
    if (changed) words.push(`${heading}. ${lead}`);
    if (number && event.number !== spokenNumber) words.push(`${number}.`);
    if (inLine && shownPosition !== spokenPosition
      && (changed ? !shownState || shownState === 'lobby' : Date.now() - spokenAt > ANNOUNCE_MS)) {
      spokenPosition = shownPosition;
      words.push(`${texts.position_label}: ${numbers.format(shownPosition)}. ${wait && `${texts.wait_label}: ${wait}.`}`);
    }
    if (words.length) announce(words.join(' '));
    spokenNumber = event?.number ?? spokenNumber;
    shownState = state;
  };

  const renderPlace = (status) => {
    const { position, waiting } = status, { first, low } = track(status);
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
  // This page is updated no more.
  const rest = () => {
    closeStream();
    ['auto-update', 'message'].forEach((name) => write(name, ''));
  };
  const reload = () => { leaving = true; location.reload(); };

  // The visitor's turn. A visible page continues to the site by itself. A hidden page sends no request: it shows until
  // when the slot is reserved, and continues once it is shown. `turnEnds` is Infinity if nothing is reserved.
  let turnEnds = 0;
  const enter = ({ expires_in: left }) => {
    stopped = true;
    const target = new URL(page.enter_url || location.href, location.href);
    if (!/^https?:$/.test(target.protocol)) return;
    target.hash = '';
    // Usually the requested URL is this one: then a reload keeps the fragment.
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
    turnEnds = left == null ? Infinity : Date.now() + left * 1000;
    if (left != null) after('expire', left * 1000);
    showIcon(TURN_ICON);
    if (notifying) alertVisitor();
    continueOrHold();
  };
  const continueOrHold = () => {
    const left = turnEnds - Date.now();
    if (left <= 0) return actions.expire();
    if (visible()) {
      all('enter-link')[0]?.focus();
      return after('enter', Math.min(ENTER_MS, left));
    }
    cancel('enter');
    if (turnEnds === Infinity) return;
    const lead = fill(texts.reserved, { time: clock(turnEnds, left < SECONDS_MS ? 'medium' : 'short') });
    write('lead', lead);
    announce(`${texts.heading.admitted}. ${lead}`);
  };
  actions.expire = () => {
    if (!turnEnds || leaving) return;
    turnEnds = 0;
    leaving = true;
    cancel('enter');
    showIcon();
    render({ state: 'expired' });
    rest();
    show('rejoin', true);
  };

  const TURN_ICON = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8">'
    + '<circle cx="4" cy="4" r="4" fill="#1a7f37"/><path d="m2 4.2 1.4 1.4L6 2.8" fill="none" stroke="#fff"/></svg>')}`;
  const icon = document.querySelector('link[rel~="icon"]') ?? document.createElement('link'), ownIcon = icon.href;
  const showIcon = (href = ownIcon) => {
    Object.assign(icon, { rel: 'icon', href });
    document.head.append(icon);
  };

  // Notifications are off until the visitor turns them on. Browsers allow sound after the visitor pressed a button. Most
  // phones refuse notifications without a service worker.
  let notifying = store.get('notify') === '1', audio = null;
  const mayNotify = () => 'Notification' in window && Notification.permission === 'granted';
  const showNotify = () => {
    const text = !notifying ? '' : mayNotify() ? texts.notify_on : texts.notify_unsupported;
    all('notify').forEach((el) => el.setAttribute('aria-pressed', notifying));
    write('notify-state', text);
    return text;
  };
  // Suspended until the turn, so that waiting costs no battery.
  const openAudio = async () => {
    audio ??= new AudioContext();
    await audio.resume();
  };
  const playSound = () => [880, 1320].forEach((pitch, i) => {
    const tone = audio.createOscillator(), volume = audio.createGain(), start = audio.currentTime + i * 0.25;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.2, start);
    volume.gain.exponentialRampToValueAtTime(0.001, start + 0.4);
    tone.connect(volume).connect(audio.destination);
    tone.start(start);
    tone.stop(start + 0.4);
  });
  const alertVisitor = () => {
    const at = Date.now();
    // Where sound is not allowed yet, this waits until the visitor presses something, and is then too late. Not every browser has it.
    openAudio().then(() => { if (Date.now() - at < SOUND_LATE_MS) playSound(); }, () => { });
    navigator.vibrate?.([200, 100, 200]);
    if (visible() || !mayNotify()) return;
    // Otherwise sound and title show the turn.
    try {
      const notice = new Notification(texts.heading.admitted, { body: page.brand, tag: key('admitted') });
      notice.onclick = () => { focus(); notice.close(); };
    } catch { }
  };
  all('notify').forEach((el) => {
    el.onclick = async () => {
      notifying = !notifying;
      if (notifying) {
        store.set('notify', '1');
        openAudio().then(() => audio.suspend(), () => { });
        if ('Notification' in window && Notification.permission === 'default') await Notification.requestPermission();
      } else store.drop('notify');
      announce(showNotify());
    };
  });
  showNotify();

  // Another language is another page at the same address, which the page of a first visit does not have. The fragment stays.
  all('language').forEach((el) => {
    el.onsubmit = () => {
      el.action = el.action.split('#')[0] + location.hash;
      el.elements.return.value = location.pathname + location.search;
      leaving = true;
    };
  });

  // Leaving: the server ends the session, and the page offers to join again.
  all('leave').forEach((el) => {
    el.onclick = async () => {
      if (!confirm(texts.leave_confirm)) return;
      let left = false;
      try { left = (await fetch(page.leave_url, { method: 'POST' })).ok; } catch { }
      if (!left) return offline(true);
      stopped = leaving = true;
      render({ state: 'left' });
      rest();
      entitle(texts.left.heading);
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
    closeStream();
    blocked(true);
  };

  const blocked = (on) => {
    show('cookies-blocked', on);
    if (on) write('live', all('cookies-blocked')[0]?.textContent ?? '');
  };
  // A first visit has no session: it joins when it comes back with its pre-ticket. Whoever gets a second one may keep no cookies.
  let firstVisits = redeems(page) ? 1 : 0;
  const comeBack = (status) => {
    render(status);
    if (++firstVisits === 2) blocked(true);
  };
  // The session of this page, which had none before.
  const adopt = ({ session, support_code: code }) => {
    page.session = session;
    page.status_url += `&session=${session}`;
    shownState = null;
    show('reason', true);
    write('support-code', code ?? '');
    show('support', !!code);
    if (firstVisits > 1) blocked(false);
    firstVisits = 0;
  };

  // Proof of work: workers share the counters of a challenge, until one of them solves it. A newcomer whose browser cannot do
  // that joins later: then the answer to a poll says so.
  const SOLVERS_MAX = 4, RENEW_MS = 110000;
  let solvers = [], challenged = null, proof = null;
  const stopSolving = () => {
    solvers.forEach((solver) => solver.terminate());
    solvers = [];
    challenged = proof = null;
    for (const name of ['challenge', 'submit']) cancel(name);
    show('proof', false);
  };
  const cannotSolve = () => {
    const status = challenged;
    canSolve = false;
    stopSolving();
    announce(renderEvent(status).lead);
  };
  const solve = (challenge) => {
    const { parameters } = challenge, most = parameters.data.max_counter;
    let tried = 0;
    const showTried = (count) => all('proof').forEach((el) => {
      el.value = (tried += count) / most;
      el.hidden = false;
    });
    showTried(0);
    const step = Math.min(SOLVERS_MAX, navigator.hardwareConcurrency || 1);
    solvers = Array.from({ length: step }, (_, i) => {
      const solver = new Worker(scriptUrl);
      solver.onmessage = ({ data }) => {
        if (Number.isInteger(data)) return showTried(data);
        if (!data) return cannotSolve();
        proof = JSON.stringify({ proof: { challenge, solution: data } });
        solvers.forEach((other) => other.terminate());
        showTried(most - tried);
        cancel('challenge');
        actions.submit();
      };
      solver.onerror = cannotSolve;
      solver.postMessage({ parameters, first: i + 1, step });
      return solver;
    });
    // Soon it expires.
    after('challenge', RENEW_MS);
  };
  actions.challenge = async () => {
    const status = challenged;
    solvers.forEach((solver) => solver.terminate());
    const { response, body } = await load(status.join.challenge_url, { cache: 'no-store' });
    if (challenged !== status || leaving) return;
    if (response?.ok && body.parameters) return solve(body);
    if (!response || response.status === 429) return after('challenge', Math.max(BACKOFF_FIRST, retryAfter(response)) * 1000);
    // Whoever comes without the pre-ticket again may keep no cookies.
    if (response.status === 403 && ++firstVisits > 1) blocked(true);
    stopSolving();
    after('poll', (firstVisits > 1 ? COOKIES_S : BACKOFF_FIRST) * 1000);
  };
  actions.submit = async () => {
    const status = challenged, headers = { 'Content-Type': 'application/json' };
    const { response, body } = await load(page.join_url, { method: 'POST', headers, body: proof });
    if (challenged !== status || leaving) return;
    if (!response || response.status > 499) return after('submit', BACKOFF_MAX * 1000 * Math.random());
    stopSolving();
    if (!(body.state in texts.heading)) return after('poll', BACKOFF_FIRST * 1000);
    take(body);
    if (!stopped && !leaving) after('poll', Math.min(Math.max(body.poll_after, retryAfter(response)), DELAY_MAX) * 1000);
  };
  const prove = (status) => {
    render(status);
    if (!canSolve || challenged) return;
    challenged = status;
    announce(texts.prove);
    actions.challenge();
  };

  const keptUntil = (at) => fill(texts.position_kept_until, { time: clock(at) });
  const showKept = (seconds) => write('position-kept', keptUntil(Date.now() + seconds * 1000));
  // These states have pages without a position.
  const isApart = (state) => ['closed', 'full', 'invitation_required'].includes(state);
  const settle = (status) => {
    const { state, session } = status;
    all('message').forEach((el) => { el.lang = status.message_language ?? ''; });
    write('message', status.message ?? '');
    if (state !== page.state && (isApart(state) || isApart(page.state))) return reload();
    if (isApart(state)) {
      // This poll renewed the ticket.
      if (session) showKept(page.hold_seconds);
      return void renderEvent(status);
    }
    if (redeems(status) && !page.session) return comeBack(status);
    if (proves(status) && !page.session) return prove(status);
    stopSolving();
    if (session && !page.session) adopt(status);
    if (['waiting', 'paused', 'lobby'].includes(state) && (!session || session !== page.session)) return unknown();
    if (session) store.drop('rejoin');
    render(status);
    if (state === 'admitted') enter(status);
  };

  let failures = 0, busy = false, polledAt = 0, updatedAt = page.state === 'unavailable' ? 0 : Date.now();
  // When the ticket was signed that holds the position: updates of a stream do not renew it.
  let visitedAt = updatedAt;
  const updates = all('auto-update')[0]?.textContent ?? '';
  const offline = (on, stale = on) => {
    if (on) {
      const kept = visitedAt + page.hold_seconds * 1000, holds = page.session && !isInLobby(counted ?? page) && kept > Date.now();
      const notice = navigator.onLine ? texts.unreachable_notice : texts.offline_notice;
      const text = notice + (holds ? ` ${keptUntil(kept)}` : '');
      write('offline-notice', text);
      if (!failures) announce(text);
    }
    show('offline', on && !!page.session);
    root.toggleAttribute('data-offline', stale);
    write('auto-update', stale && updatedAt ? fill(texts.last_updated, { time: clock(updatedAt) }) : updates);
  };

  const retryAfter = (response) => {
    const value = response?.headers.get('Retry-After');
    const seconds = value ? (/^\d+$/.test(value) ? +value : (Date.parse(value) - Date.now()) / 1000) : 0;
    return seconds > 0 ? seconds : 0;
  };

  // The response and its JSON, which is empty if there is none.
  const load = async (url, options) => {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), FETCH_MS);
    let response;
    try {
      response = await fetch(url, { ...options, signal: stop.signal, headers: { Accept: 'application/json', ...options.headers } });
      return { response, body: (await response.json()) ?? {} };
    } catch {
      return { response, body: {} };
    } finally { clearTimeout(timer); }
  };
  // The queue was removed or renamed, or another one has this host: the address shows what is true now. A gate that does not have a new
  // queue yet knows none for a moment.
  let unknowns = 0;
  const ask = async () => {
    const { response, body } = await load(page.status_url, { cache: 'no-store' });
    if (!/^unknown_/.test(body.code)) unknowns = 0;
    else if (++unknowns > 2) reload();
    const status = body.state in texts.heading ? body : null;
    if (status && status.state !== 'unavailable') visitedAt = Date.now();
    return { status, delay: Math.max(status ? status.poll_after || 1 : 0, retryAfter(response)) };
  };

  // In the lobby, everything that can change is in the line document, which costs the queue nothing. The status is requested
  // soon after the page was loaded, since cookies may be blocked, and at a random time in the first part of the draw. With a
  // beacon it is requested once the line document has another revision, which has the value.
  const LOBBY_MIN = 20, LOBBY_MAX = 240, LOBBY_LAST_MS = 10000, CONFIRM_MS = 2000, spread = Math.random() * 2 / 3;
  let waitsFor = null;
  const startSoon = () => startsAt - performance.now() <= LOBBY_MIN * 1250;
  const joinsIn = () => startsAt + spread * 1000 * drawSeconds(counted.event) - performance.now();
  const lobbyDelay = () => {
    const left = startsAt - performance.now(), early = 1000 - Math.random() * 250;
    if (!startSoon()) return Math.min(LOBBY_MAX, Math.max(LOBBY_MIN, left / 4000)) * early;
    // Once more before the start, which may be postponed.
    if (left > LOBBY_LAST_MS) return left * (0.5 + Math.random() / 4);
    return Math.max(0, awaitsBeacon(counted) ? Math.max(0, left) + LOBBY_MIN * early : joinsIn());
  };
  // Whether the line document confirms what the visitor sees in the lobby. It may come from a cache and so be older.
  const isCurrent = async (seen) => {
    const { mode, revision, event } = (await load(page.line_url, { credentials: 'omit' })).body;
    if (revision !== seen.revision || event?.id !== seen.event.id) return false;
    // The clock of a device that slept is late.
    if (performance.now() + 1000 * event.starts_in < startsAt - 1000) renderEvent({ ...seen, event });
    return mode === 'lobby' || (mode === 'draw' && startSoon());
  };

  const take = (status) => {
    if (status && status.state !== 'unavailable') updatedAt = Date.now();
    offline(!status, status?.state === 'unavailable' || !status);
    if (!status) return;
    failures = 0;
    settle(status);
  };

  const poll = async () => {
    if (busy || stopped || leaving) return;
    busy = true;
    polledAt = Date.now();
    const isSame = waitsFor && (awaitsBeacon(waitsFor) || joinsIn() > 0) && await isCurrent(waitsFor);
    let { status, delay } = isSame ? {} : await ask();
    busy = false;
    if (leaving) return;
    if (isSame) {
      failures = 0;
      updatedAt = Date.now();
      offline(false);
      return after('poll', lobbyDelay());
    }
    if (status) waitsFor = status.state === 'lobby' && (upcoming(status) || awaitsBeacon(status)) ? status : null;
    take(status);
    if (waitsFor) delay = lobbyDelay() / 1000;
    if (firstVisits > 1) delay = Math.max(delay, COOKIES_S);
    if (!status) {
      const backoff = Math.min(BACKOFF_MAX, BACKOFF_FIRST * 2 ** failures++);
      delay = Math.max(delay, backoff * (0.5 + Math.random() / 2));
    }
    if (!stopped && !leaving) after('poll', Math.min(delay, DELAY_MAX) * 1000);
  };

  // A visitor in line is updated by a stream instead of polls. A browser has one per queue: other tabs poll, and so do pages
  // without locks. After a silent stream, or two that ended too soon, this page only polls: a proxy may buffer streams.
  const SILENT_MS = 3000, REOPEN_MS = 20000, ENDS_MS = 5000;
  let streams = !!page.stream_url && 'EventSource' in window && 'locks' in navigator;
  let source = null, unlock = null, heard = false, endedAt = -ENDS_MS;
  const closeStream = () => {
    cancel('silent');
    source?.close();
    unlock?.();
    source = unlock = null;
  };
  actions.silent = () => {
    // A stream that was heard before has lost its connection.
    if (!heard) streams = false;
    closeStream();
    poll();
  };
  const listen = () => {
    cancel('poll');
    heard = false;
    source = new EventSource(page.stream_url);
    after('silent', SILENT_MS);
    source.onopen = () => {
      visitedAt = Date.now();
      after('silent', SILENT_MS);
    };
    source.addEventListener('status', ({ data }) => {
      const status = JSON.parse(data);
      heard = true;
      if (status.state === 'admitted') {
        closeStream();
        return poll();
      }
      // The server ends a stream before the session expires.
      after('silent', Math.max(SILENT_MS, (status.expires_in ?? 60) * 1000));
      take(status);
    });
    source.onerror = () => {
      const tooSoon = performance.now() - endedAt < ENDS_MS, final = source.readyState === EventSource.CLOSED;
      endedAt = performance.now();
      if (heard) after('silent', REOPEN_MS);
      heard = false;
      if (tooSoon || final) actions.silent();
    };
  };
  // Visitors of a lobby are not in line, whatever its mode.
  const mayStream = (status) => streams && page.session && ['waiting', 'paused'].includes(status.state) && !isInLobby(status);
  // Resolves to whether this tab has the stream.
  const stream = () => new Promise((opened) => {
    if (source || !mayStream(counted ?? page)) return opened(!!source);
    navigator.locks.request(key('stream'), { ifAvailable: true }, (lock) => {
      if (!lock || stopped || leaving) return opened(false);
      opened(true);
      return new Promise((done) => {
        unlock = done;
        listen();
      });
    }).catch(() => opened(false));
  });
  actions.poll = async () => { if (!await stream()) poll(); };
  const pollNow = () => { if (!source && Date.now() - polledAt > POLL_GAP_MS) poll(); };

  // After a failure poll at once, even if the last poll was a moment ago: the connection is back.
  addEventListener('online', () => {
    closeStream();
    if (failures) poll(); else pollNow();
  });
  addEventListener('pageshow', (event) => {
    if (!event.persisted) return;
    leaving = stopped = false;
    turnEnds = 0;
    waitsFor = null;
    poll();
  });
  document.addEventListener('visibilitychange', () => { if (turnEnds) continueOrHold(); else if (visible()) pollNow(); });
  addEventListener('pagehide', () => {
    closeStream();
    // Visitors of the lobby have no presence.
    if (leaving || waitsFor || shownState === 'admitted') return;
    store.set('left', '1');
    navigator.sendBeacon?.(page.away_url);
  });

  // The away beacon of the page before this one may arrive after this page was served, so renew the presence soon.
  const returned = store.get('left');
  store.drop('left');
  if (page.kept_seconds) showKept(page.kept_seconds);
  if (page.state === 'admitted') enter(page);
  else {
    if (page.position) renderPlace(page);
    if (upcoming(page) || page.state === 'lobby') renderEvent(page);
    show('leave', page.session && !['unavailable', 'closed', 'lobby'].includes(page.state) && !isInLobby(page));
    for (const name of ['notify', 'notify-state']) show(name, page.session && page.state !== 'closed');
    // A stream does not wait as long as the next poll may, and a visitor of the lobby learns soon that cookies are blocked.
    const lobby = page.state === 'lobby' && upcoming(page);
    if (lobby && startSoon()) waitsFor = page;
    const isSoon = lobby || mayStream(page), interval = page.poll_after * 1000;
    const first = isSoon ? Math.min(interval, CONFIRM_MS * (1 + Math.random())) : interval;
    if (proves(page)) prove(page);
    after('poll', redeems(page) ? 0 : returned ? POLL_GAP_MS : waitsFor ? lobbyDelay() : first);
  }
  // This far, the script runs in this browser.
  window.vestibuleRuns = 1;
})();
