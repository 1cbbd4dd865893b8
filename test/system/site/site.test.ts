import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import test from 'ava';
import { serveSite } from '#support/static-site';
import { top } from '../../limits/constants.ts';

/* The built site as a reader has it, in headless Chromium. `npm run site -w test` builds it before; what drives the browser is installed with it. */

const browserPath = '/usr/bin/chromium';
const folder = join(top, 'docs/dist');
const inBrowser = existsSync(browserPath) ? test : test.skip;
if (!existsSync(folder)) throw new Error('there is no built site: run `npm run site -w test`');

/** Part of Playwright in use, which the package of the site has. */
interface Page {
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void;
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'request', listener: (request: { url(): string }) => void): void;
  goto(url: string, options: { waitUntil: 'networkidle' | 'load' }): Promise<unknown>;
  evaluate<Result>(script: string): Promise<Result>;
  keyboard: { press(key: string): Promise<void>; insertText(text: string): Promise<void> };
  waitForSelector(selector: string): Promise<unknown>;
  emulateMedia(media: { colorScheme: 'light' | 'dark' }): Promise<void>;
  close(): Promise<void>;
}
interface Browser {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}
interface Playwright {
  readonly chromium: {
    launch(options: { executablePath: string; args: readonly string[] }): Promise<Browser>;
  };
}

const ofSite = createRequire(join(top, 'docs/site/package.json'));
const site = await serveSite(folder);
test.after.always(() => site.close());
if (!existsSync(browserPath)) test(`there is no ${browserPath}: the pages are not opened`, (t) => t.pass());

async function withBrowser<Result>(use: (browser: Browser) => Promise<Result>): Promise<Result> {
  const { chromium }: Playwright = ofSite('playwright-core');
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
  try {
    return await use(browser);
  } finally {
    await browser.close();
  }
}

const pages = globSync('**/*.html', { cwd: folder }).filter((page) => page !== '404.html');
const files = new Map(pages.map((page) => [`/${page}`, readFileSync(join(folder, page), 'utf8')]));

/** True if the site has the target of a page's link. */
function leadsSomewhere(href: string): boolean {
  const { pathname, hash } = new URL(href);
  const path = decodeURIComponent(pathname.endsWith('/') ? `${pathname}index.html` : pathname);
  const html = files.get(path);
  if (html === undefined) return existsSync(join(folder, path)) && hash === '';
  const anchor = decodeURIComponent(hash.slice(1));
  return anchor === '' || html.includes(` id="${anchor}"`);
}

/** Opens pages until none is waiting; answers what is wrong with them. */
async function problemsOf(page: Page, waiting: string[]): Promise<string[]> {
  const problems: string[] = [];
  let at = '';
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(`${at}: ${message.text()}`);
  });
  page.on('pageerror', ({ message }) => problems.push(`${at}: ${message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith('data:') && !url.startsWith(site.base)) problems.push(`${at} asks ${url}`);
  });
  for (;;) {
    at = waiting.pop() ?? '';
    if (at === '') return problems;
    await page.goto(`${site.base}/${at}`, { waitUntil: 'networkidle' });
    const links = await page.evaluate<string[]>('[...document.querySelectorAll("a[href]")].map(({ href }) => href)');
    const dead = links.filter((href) => href.startsWith(site.base) && !leadsSomewhere(href));
    problems.push(...new Set(dead.map((href) => `${at} links to ${href.slice(site.base.length)}`)));
  }
}

inBrowser(`every page opens without an error, without a request to others and without a dead link`, async (t) => {
  t.timeout(600_000);
  const waiting = [...pages];
  const problems = await withBrowser(async (browser) => {
    const found = await Promise.all([1, 2, 3, 4].map(async () => problemsOf(await browser.newPage(), waiting)));
    return found.flat();
  });
  t.true(pages.length > 100);
  t.deepEqual(
    pages.filter((page) => page.endsWith('README.html')),
    [],
  );
  t.deepEqual(problems, []);
});

/** Terms that readers look for, each with the page of the first result. */
const terms: readonly (readonly [term: string, page: string])[] = [
  ['rollover', 'guides/rollover'],
  ['rotate', 'guides/rollover'],
  ['attestation', 'reference/certificates'],
  ['backup', 'guides/backup'],
  ['DENY_NO_MATCH', 'reference/decisions'],
  ['SPIFFE', 'guides/'],
  ['nginx', 'guides/standard-clients'],
  ['prepublishSeconds', 'reference/configuration-issuing'],
  ['Athenz', 'guides/coming-from-athenz'],
  ['Prometheus', 'guides/'],
  ['kubernetes', 'guides/kubernetes'],
  ['k8s', 'guides/kubernetes'],
  ['HA', 'guides/several-servers'],
  ['several servers', 'guides/several-servers'],
  ['permission', 'guides/operator'],
  ['revoke', 'guides/'],
  ['JWT', 'tutorial/'],
  ['cert', 'guides/'],
  ['mTLS', 'guides/identities'],
  ['mutual TLS', 'guides/'],
  ['RBAC', 'guides/'],
  ['refuse', 'reference/decisions'],
  ['policy case', 'guides/documents'],
  ['PolicyEngine', 'tutorial/'],
];

/** Resolves when the page has its listeners. */
const whenMounted = `new Promise((resolve) => {
  const look = () => (document.querySelector('#app')?.__vue_app__ ? resolve() : requestAnimationFrame(look));
  look();
})`;

inBrowser('the search has guides before reference before types, and knows the words that readers type', async (t) => {
  t.timeout(300_000);
  const first: (readonly [term: string, page: string])[] = [];
  await withBrowser(async (browser) => {
    for (const [term, expected] of terms) {
      const page = await browser.newPage();
      await page.goto(`${site.base}/index.html`, { waitUntil: 'networkidle' });
      // A key that is pressed before the page has its listeners is lost.
      await page.evaluate(whenMounted);
      await page.keyboard.press('Control+k');
      await page.waitForSelector('#localsearch-input');
      // At once, so that no result is one of half a word.
      await page.keyboard.insertText(term);
      await page.waitForSelector('#localsearch-list a');
      const [found = ''] = await page.evaluate<string[]>(
        '[...document.querySelectorAll("#localsearch-list a")].map(({ href }) => href)',
      );
      first.push([term, found.startsWith(`${site.base}/${expected}`) ? expected : found.slice(site.base.length)]);
      await page.close();
    }
  });
  t.deepEqual(first, [...terms]);
});

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

const judged = [
  'index.html',
  'guides/first-server.html',
  'reference/configuration-server.html',
  'reference/index.html',
  'decisions/index.html',
];

for (const colorScheme of ['light', 'dark'] as const) {
  inBrowser(`axe finds nothing serious, ${colorScheme}`, async (t) => {
    t.timeout(300_000);
    const found: string[] = [];
    const axe = readFileSync(ofSite.resolve('axe-core/axe.min.js'), 'utf8');
    await withBrowser(async (browser) => {
      for (const path of judged) {
        const page = await browser.newPage();
        await page.emulateMedia({ colorScheme });
        await page.goto(`${site.base}/${path}`, { waitUntil: 'networkidle' });
        // Buttons have their names once the page is alive.
        await page.waitForSelector('.VPNavBarAppearance [role="switch"]:not([title=""])');
        await page.evaluate(axe);
        const violations = await page.evaluate<Violation[]>('axe.run().then(({ violations }) => violations)');
        const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact));
        for (const { id, nodes } of serious)
          found.push(`${path}: ${id} at ${nodes[0]?.target.join(' ')} (${nodes.length})`);
        await page.close();
      }
    });
    t.deepEqual(found, []);
  });
}
