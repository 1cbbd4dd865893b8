import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { serveSite } from '#support/static-site';
import { top } from '../../limits/constants.ts';

/* The playground of the built site as its readers use it, in headless Chromium. `npm run site -w test` builds it before. */

const browserPath = '/usr/bin/chromium';
const folder = join(top, 'docs/dist');
const inBrowser = existsSync(browserPath) ? test.serial : test.serial.skip;
if (!existsSync(folder)) throw new Error('there is no built site: run `npm run site -w test`');

/** Part of Playwright in use, which the package of the site has. */
interface Page {
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void;
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'request', listener: (request: { url(): string }) => void): void;
  goto(url: string): Promise<unknown>;
  evaluate<Result>(script: string): Promise<Result>;
  fill(selector: string, text: string): Promise<void>;
  click(selector: string): Promise<void>;
  selectOption(selector: string, value: string): Promise<unknown>;
  inputValue(selector: string): Promise<string>;
  textContent(selector: string): Promise<string | null>;
  keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
}
interface Playwright {
  readonly chromium: {
    launch(options: { executablePath: string; args: readonly string[] }): Promise<{
      newPage(options?: { colorScheme: 'light' | 'dark' }): Promise<Page>;
      close(): Promise<void>;
    }>;
  };
}

const ofSite = createRequire(join(top, 'docs/site/package.json'));
const { chromium }: Playwright = ofSite('playwright-core');
const site = await serveSite(folder);
const browser = existsSync(browserPath)
  ? await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] })
  : undefined;
test.after.always(async () => {
  await browser?.close();
  site.close();
});

const id = (name: string) => `#playground-${name}`;
const headline = `document.querySelector('${id('headline')}')?.textContent ?? ''`;
const text = async (page: Page, selector: string) => (await page.textContent(selector)) ?? '';
/** Looks before each frame: the page evaluates nothing that is written in itself. */
const eventually = (page: Page, condition: string) =>
  page.evaluate(
    `new Promise((done) => { const look = () => (${condition} ? done() : requestAnimationFrame(look)); look(); })`,
  );
const until = (page: Page, text: string) => eventually(page, `(${headline}).includes(${JSON.stringify(text)})`);

/** Opens the playground and tells, when the test ends, whether anything went wrong in it or it asked for what is not of the site. */
async function open(t: ExecutionContext, fragment = '', colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
  t.timeout(120_000);
  if (browser === undefined) throw new Error('there is no browser');
  const page = await browser.newPage({ colorScheme });
  const problems: string[] = [];
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${site.base}/`)) problems.push(request.url());
  });
  t.teardown(() => {
    if (problems.length > 0) throw new Error(problems.join('\n'));
  });
  await page.goto(`${site.base}/playground.html${fragment}`);
  await eventually(page, `(${headline}) !== ''`);
  return page;
}

const linkTo = (state: unknown) => `#example=${deflateRawSync(JSON.stringify(state)).toString('base64url')}`;
const documents = 'domain: films\nroles:\n  viewer: { members: [media.tv] }\n';
const question = { principal: 'media.tv', action: 'watch', resource: 'film', context: '' };

for (const colorScheme of ['light', 'dark'] as const) {
  inBrowser(`axe finds nothing in the playground, ${colorScheme}`, async (t) => {
    const page = await open(t, '', colorScheme);
    await page.evaluate(readFileSync(ofSite.resolve('axe-core/axe.min.js'), 'utf8'));
    const find = 'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))';
    t.deepEqual(await page.evaluate(find), []);
    await page.fill(id('documents'), 'domain: [');
    await page.fill(id('tests'), '- {');
    await until(page, 'have problems');
    t.deepEqual(await page.evaluate(find), [], 'with problems shown');
  });
}

inBrowser(
  'a question is answered, the change turns the answer over, and the impact since the baseline is told',
  async (t) => {
    const page = await open(t);
    await until(page, 'Not granted (DENY_NO_MATCH)');
    t.is(await text(page, id('flip')), 'membership of role editor of catalog');
    t.regex(await text(page, id('totals')), /^3 passed, 0 failed/);
    t.is(await text(page, id('state')), 'Checked: 3 tests passed, no problems');
    await page.click(id('keep'));
    await eventually(
      page,
      `document.querySelector('${id('impact')}').textContent.includes('no principal gains or loses')`,
    );
    await page.click(id('apply'));
    await until(page, 'Granted (ALLOW)');
    t.is(await page.evaluate('document.activeElement.id'), 'playground-headline', 'the focus is on the answer');
    t.regex(await text(page, id('impact')), /media\.player: gains write on catalog:movie/);
    t.regex(await text(page, id('tests-remarks')), /^Line 2 failed: a player changes nothing/);
    t.is(await text(page, id('state')), 'Checked: 2 passed, 1 test failed, no problems');
    t.regex(await page.inputValue(id('documents')), /editor: .*media\.player/);
    const described = `document.querySelector('${id('picture')} svg').getAttribute('aria-labelledby').split(' ')
    .map((name) => document.getElementById(name).textContent).join(': ')`;
    t.regex(
      await page.evaluate<string>(described),
      /^How media\.player comes to ALLOW: .*role editor, then assertion of policy movies/,
    );
    await page.click(id('undo'));
    await until(page, 'Not granted (DENY_NO_MATCH)');
    await page.fill(id('action'), 'read');
    await until(page, 'Granted (ALLOW)');
    await page.fill(id('action'), 'no action');
    await until(page, 'not complete');
    t.regex(await text(page, id('action-problem')), /is not/);
  },
);

inBrowser('long lines wrap, and marks tell results apart as colours do', async (t) => {
  const page = await open(t);
  await until(page, 'Not granted (DENY_NO_MATCH)');
  const width = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('${id('documents')}'))`;
  t.is(await page.evaluate(width), 0);
  const mark = (selector: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}'), '::before').content.slice(1, 2)`);
  t.deepEqual(await Promise.all([id('headline'), `${id('results')} li`, id('state')].map(mark)), ['✗', '✓', '✓']);
  await page.fill(id('documents'), 'domain: [');
  await until(page, 'have problems');
  t.deepEqual(await Promise.all([id('headline'), `${id('documents-remarks')} li`].map(mark)), ['!', '!']);
});

inBrowser('every example of the list loads', async (t) => {
  const page = await open(t);
  const ids = await page.evaluate<string[]>(
    `[...document.querySelectorAll('${id('example')} option')].map(({ value }) => value)`,
  );
  t.is(ids.length, 6);
  for (const example of ids) {
    await page.fill(id('documents'), '- 1');
    await until(page, 'have problems');
    await page.selectOption(id('example'), example);
    await page.click(id('load'));
    await until(page, 'ranted (');
    t.regex(await text(page, id('totals')), /, 0 failed/, example);
  }
});

inBrowser('a link carries everything to another reader', async (t) => {
  const page = await open(t);
  await page.click(id('keep'));
  await page.fill(id('documents'), documents);
  await page.fill(id('tests'), '- { principal: media.tv, action: watch, resource: film, expect: deny }\n');
  await page.fill(id('principal'), 'media.tv');
  await page.fill(id('context'), 'instances=é1');
  await page.click(id('share'));
  await eventually(page, `location.hash.startsWith('#example=')`);
  const other = await open(t, await page.evaluate<string>('location.hash'));
  await eventually(other, `document.querySelector('${id('principal')}').value === 'media.tv'`);
  for (const name of ['documents', 'tests', 'principal', 'action', 'resource', 'context', 'baseline']) {
    const shown = `(({ value, textContent }) => value ?? textContent)(document.querySelector('${id(name)}'))`;
    t.is(await other.evaluate(shown), await page.evaluate(shown), name);
  }
});

const markup = '<img src=x onerror="globalThis.taken = true">';
const hostile: [note: string, fragment: string, shown: RegExp][] = [
  ['malformed', '#example=<script>', /cannot be opened: it is malformed/],
  ['an anchor of no heading', `#${encodeURIComponent(markup)}`, /^$/],
  ['too long', `#example=${'A'.repeat(70_000)}`, /it is too long/],
  ['what grows a thousandfold', linkTo('x'.repeat(2_000_000)), /too large/],
  ['another value', linkTo({ documents: {} }), /carries no example/],
  [
    'markup in every text',
    linkTo({
      documents: `domain: films\nroles:\n  "${markup.replaceAll('"', "'")}": {}\n`,
      tests: `- { note: ${markup} }`,
      baseline: markup,
      question: { principal: markup, action: markup, resource: markup, context: markup },
    }),
    /^$/,
  ],
];
for (const [note, fragment, shown] of hostile) {
  inBrowser(`a hostile link does nothing: ${note}`, async (t) => {
    const page = await open(t, fragment);
    await eventually(page, `${shown}.test(document.querySelector('${id('shared')}').textContent)`);
    await page.click(id('load'));
    await until(page, 'Not granted (DENY_NO_MATCH)');
    t.deepEqual(await page.evaluate(`[globalThis.taken, document.querySelectorAll('main img, main script').length]`), [
      undefined,
      0,
    ]);
  });
}

inBrowser('markup stays text wherever it is shown', async (t) => {
  const told = markup.replaceAll('"', '');
  const state = {
    documents: `domain: films\nroles:\n  viewer: { members: [media.tv] }\npolicies:\n  p:\n    - { action: watch, resource: "${told.replaceAll(' ', '/')}", role: viewer }\n`,
    tests: `- { note: "${told}", principal: media.tv, action: watch, resource: film, expect: allow }\n`,
    question,
  };
  const page = await open(t, linkTo(state));
  await until(page, 'Not granted (DENY_NO_MATCH)');
  await eventually(page, `document.querySelector('${id('tests-remarks')}').textContent.includes('<img src=x')`);
  t.regex(await text(page, id('reasons')), /<img\/src=x/);
  t.deepEqual(await page.evaluate(`[globalThis.taken, document.querySelectorAll('main img').length]`), [undefined, 0]);
});

inBrowser('a problem leads to its line', async (t) => {
  const page = await open(t);
  await page.fill(id('documents'), `${documents}rules: {}\n`);
  await until(page, 'have problems: 1');
  t.regex(await text(page, id('documents-remarks')), /^Line 4 rules: is not known here/);
  t.is(await text(page, id('state')), 'Not checked: 1 problem in the documents');
  t.is(await page.evaluate(`document.querySelector('${id('documents')}').ariaInvalid`), 'true');
  await page.click(`${id('documents-remarks')} button`);
  const selected =
    '(({ id, value, selectionStart, selectionEnd }) => [id, value.slice(selectionStart, selectionEnd)])(document.activeElement)';
  t.deepEqual(await page.evaluate(selected), ['playground-documents', 'rules: {}']);
});

/** Where the Tab key leads, from the list of examples on. */
const walk = [
  ...['load', 'share', 'documents', 'keep', 'forget', 'tests', 'principal', 'action', 'resource', 'context'],
  ...['', 'apply'],
];

inBrowser('the keyboard reaches everything, leaves the texts, and keeps the indentation of a line', async (t) => {
  const page = await open(t);
  await until(page, 'Not granted');
  await page.evaluate(`document.querySelector('${id('example')}').focus()`);
  const visited: string[] = [];
  for (const _ of walk) {
    await page.keyboard.press('Tab');
    visited.push((await page.evaluate<string>('document.activeElement.id')).replace('playground-', ''));
  }
  t.deepEqual(visited, walk);
  await page.keyboard.press('Enter');
  await until(page, 'Granted (ALLOW)');
  await page.fill(id('documents'), 'domain: films\nroles:');
  await page.evaluate(`document.querySelector('${id('documents')}').focus()`);
  await page.keyboard.press('Control+End');
  for (const line of ['  viewer:', '  members: [media.tv]']) {
    await page.keyboard.press('Enter');
    await page.keyboard.type(line);
  }
  t.is(await page.inputValue(id('documents')), 'domain: films\nroles:\n  viewer:\n    members: [media.tv]');
  await page.keyboard.press('Shift+Tab');
  t.is(await page.evaluate('document.activeElement.id'), 'playground-share');
});

/** Sets a text at once: what types it line by line takes Chromium minutes. */
const paste = (page: Page, name: string, whole: string) =>
  page.evaluate(`(() => {
    const area = document.querySelector('${id(name)}');
    area.value = ${JSON.stringify(whole)};
    area.dispatchEvent(new Event('input'));
  })()`);

inBrowser('documents of 200 kB are evaluated, and one that is too long is refused', async (t) => {
  const page = await open(t);
  const roles = Array.from({ length: 4000 }, (_, at) => `  r${at}: { members: [media.p${at}, media.q${at}] }\n`);
  await page.fill(id('principal'), 'media.q3999');
  await page.fill(id('resource'), 'films:film');
  await paste(page, 'documents', `domain: films\nroles:\n${roles.join('')}`);
  const reasons = `document.querySelector('${id('reasons')}').textContent`;
  await eventually(page, `${reasons}.includes('role r3999 (member media.q3999)')`);
  await paste(page, 'documents', 'x'.repeat(300_000));
  await until(page, 'have problems: 1');
  t.regex(await text(page, id('documents-remarks')), /has more than 262144 characters/);
});
