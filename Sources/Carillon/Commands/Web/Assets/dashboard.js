// Times in the viewer's zone, and pages that look again while they are seen. Without this script everything else works.
'use strict';
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const live = document.getElementById('live');

  const localize = (root) => {
    for (const time of root.querySelectorAll('time[datetime]')) {
      const date = new Date(time.dateTime);
      if (isNaN(date)) continue;
      time.title = time.dateTime;
      const isToday = new Date().toDateString() === date.toDateString();
      time.textContent = isToday
        ? date.toLocaleTimeString() : date.toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' });
    }
  };

  const say = (text, isStale) => {
    if (!live) return;
    live.textContent = text;
    live.classList.toggle('stale', isStale);
  };

  const isTyped = (field) => {
    if (field.type === 'checkbox') return field.checked !== field.defaultChecked;
    if (field.tagName !== 'SELECT') return field.value !== field.defaultValue;
    const options = [...field.options];
    return field.selectedIndex !== Math.max(0, options.findIndex((option) => option.defaultSelected));
  };

  // What a person is doing must not be taken away.
  const isBusy = (main) => {
    const selection = document.getSelection();
    const reads = selection && !selection.isCollapsed && main.contains(selection.anchorNode);
    return reads || main.querySelector('input:focus, select:focus, textarea:focus, details[open]') !== null
      || [...main.querySelectorAll('form[method=post] :is(input, select, textarea)')].some(isTyped);
  };

  let failures = 0;
  let timer;

  const schedule = () => {
    clearTimeout(timer);
    const every = Number(document.getElementById('main').dataset.every);
    if (!every || document.hidden) return;
    const wait = Math.min(60, every * 2 ** failures) * (0.9 + Math.random() * 0.2);
    timer = setTimeout(look, wait * 1000);
  };

  const look = async () => {
    const main = document.getElementById('main');
    if (isBusy(main)) return schedule();
    try {
      const answer = await fetch(location.href, {
        headers: { Accept: 'text/html' }, cache: 'no-store', signal: AbortSignal.timeout(10000),
      });
      if (answer.redirected) return location.reload();
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const fresh = page.getElementById('main');
      if (!fresh) throw new Error('no page');
      if (isBusy(main)) return schedule();
      const focused = focusPath(main);
      const scrolls = [...main.querySelectorAll('.scroll')].map((box) => box.scrollLeft);
      localize(fresh);
      main.dataset.every = fresh.dataset.every || '';
      main.replaceChildren(...fresh.childNodes);
      [...main.querySelectorAll('.scroll')].forEach((box, place) => { box.scrollLeft = scrolls[place] || 0; });
      if (focused !== null) main.querySelectorAll('a, .scroll')[focused]?.focus({ preventScroll: true });
      document.title = page.title;
      failures = answer.ok ? 0 : failures + 1;
      say('as of ' + new Date().toLocaleTimeString(), !answer.ok);
    } catch {
      failures += 1;
      say('no answer from the dashboard, trying again', true);
    }
    schedule();
  };

  const focusPath = (main) => {
    const place = [...main.querySelectorAll('a, .scroll')].indexOf(document.activeElement);
    return place < 0 ? null : place;
  };

  document.addEventListener('visibilitychange', () => {
    if (document.hidden) clearTimeout(timer); else if (document.getElementById('main').dataset.every) look();
  });
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.matches('input, select, textarea');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const search = document.querySelector('.search input');
    if (!search) return;
    event.preventDefault();
    search.focus();
  });

  // What was done is said once.
  const here = new URL(location.href);
  if (here.searchParams.has('done')) {
    here.searchParams.delete('done');
    here.searchParams.delete('count');
    history.replaceState(null, '', here);
  }

  localize(document);
  const note = document.getElementById('zone');
  if (note && zone !== 'UTC') note.textContent = 'times in ' + zone + ', UTC on hover';
  schedule();
})();
