import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { pages } from '@signet/server/console/pages';
import test, { type ExecutionContext } from 'ava';
import { chromium, type Page } from 'playwright-core';
import { startConsole } from '#support/console-host';
import { stubCall, stubPages } from '#support/console-stub';

/* The console in headless Chromium, without JavaScript: all of its pages, filled by an API that answers one object of each kind. */

const browserPath = '/usr/bin/chromium';
const inBrowser = existsSync(browserPath) ? test : test.skip;
const browser = existsSync(browserPath)
  ? await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] })
  : undefined;
test.after.always(async () => await browser?.close());
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Look {
  readonly colorScheme?: 'light' | 'dark';
  readonly forcedColors?: 'active';
  readonly width?: number;
  readonly javaScriptEnabled?: boolean;
}

/** A page of the browser, in which nothing goes wrong and nothing is asked of elsewhere. */
async function openPage(t: ExecutionContext, origin: string, { width = 1280, ...look }: Look = {}): Promise<Page> {
  t.timeout(120_000);
  if (browser === undefined) throw new Error('there is no browser');
  const context = await browser.newContext({ javaScriptEnabled: false, ...look, viewport: { width, height: 900 } });
  const page = await context.newPage();
  const problems: string[] = [];
  // A page about something that is not there is a failed request to the browser.
  page.on('console', (message) => message.text().includes('404') || problems.push(message.text()));
  page.on('request', (request) => request.url().startsWith(`${origin}/`) || problems.push(request.url()));
  t.teardown(async () => {
    await context.close();
    if (problems.length > 0) throw new Error(problems.join('\n'));
  });
  return page;
}

async function openConsole(t: ExecutionContext, look: Look = {}, text = 'May watch films') {
  const stub = stubCall(text);
  const console_ = await startConsole(t, { call: stub.call, isLasting: true });
  const page = await openPage(t, console_.origin, look);
  await page.goto(`${console_.origin}/open/${console_.session.code}`);
  return { ...stub, ...console_, page, home: page.url() };
}

for (const colorScheme of ['light', 'dark'] as const) {
  inBrowser(`axe finds nothing on any page, ${colorScheme}`, async (t) => {
    // Alone here a script runs, that of axe; the policy of the pages would refuse it.
    const { page, home } = await openConsole(t, { colorScheme, javaScriptEnabled: true });
    await page.route('**/*', async (route) => {
      const answer = await route.fetch();
      const { 'content-security-policy': _, ...headers } = answer.headers();
      await route.fulfill({ response: answer, headers });
    });
    for (const each of stubPages) {
      await page.goto(`${home}${each}`);
      await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
      await page.evaluate(axe);
      const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
      const run = `axe.run({ runOnly: ${JSON.stringify(tags)} })`;
      const found = await page.evaluate(
        `${run}.then(({ violations, passes }) => [passes.length, ...violations.map(({ id, nodes }) => [id, nodes[0].html])])`,
      );
      const [passes, ...violations] = found as [number, ...unknown[]];
      t.deepEqual(violations, [], each);
      t.true(passes > 20, each);
    }
  });
}

for (const look of [
  { width: 320 },

  { width: 961 },
  { width: 1217 },
  { width: 320, forcedColors: 'active' },
] as const) {
  inBrowser(
    `no page scrolls sideways at ${look.width} pixels${'forcedColors' in look ? ' with forced colors' : ''}`,
    async (t) => {
      const long = `${'long-'.repeat(60)} ${'word '.repeat(60)}`;
      const { page, home } = await openConsole(t, { ...look, javaScriptEnabled: true }, long);
      for (const each of stubPages) {
        await page.goto(`${home}${each}`);
        await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
        const wider = await page.evaluate(`document.documentElement.scrollWidth - innerWidth`);
        t.true(Number(wider) <= 0, `${each}: ${wider}`);
      }
    },
  );
}

inBrowser('every page of the navigation is reached from home by keyboard', async (t) => {
  const { page, home } = await openConsole(t);
  const reached: string[] = [];
  for (const name of [...pages.keys()].filter((each) =>
    ['domains', 'requests', 'why', 'reviews', 'audit'].includes(each),
  )) {
    await page.goto(home);
    for (let tabs = 0; tabs < 12; tabs += 1) {
      await page.keyboard.press('Tab');
      if ((await page.locator(`a[href="${name}"]:focus`).count()) > 0) break;
    }
    await page.keyboard.press('Enter');
    await page.waitForURL(`${home}${name}`);
    reached.push(name);
  }
  t.is(reached.length, 5);
});

inBrowser('the first tab leads past the navigation', async (t) => {
  const { page, home } = await openConsole(t);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  t.is(page.url(), `${home}#main`);
});

inBrowser('a person asks for a role, and approves a request, without JavaScript', async (t) => {
  const { page, home, asked } = await openConsole(t);
  await page.goto(`${home}domain?name=films`);
  await page.getByRole('link', { name: 'Request viewer' }).click();
  await page.getByLabel('For how long').selectOption('900');
  await page.getByLabel('Reason').fill('ticket 4711');
  await page.getByRole('button', { name: 'Request for user.ann' }).click();
  await page.getByText('It waits for approval').waitFor();
  t.deepEqual(
    asked.find(({ method }) => method === 'POST'),
    { method: 'POST', path: ['requests'], body: { role: 'films:role.viewer', seconds: 900, reason: 'ticket 4711' } },
  );
  await page.getByLabel('Comment (optional)').fill('seen');
  await page.getByRole('button', { name: 'Approve this effect' }).click();
  await page.getByText('approved and applied').waitFor();
  t.deepEqual(asked.filter(({ method }) => method === 'POST').at(-1), {
    method: 'POST',
    path: ['requests', '17', 'approval'],
    body: { plan: 'A'.repeat(43), comment: 'seen' },
  });
});

inBrowser('a form of another port of localhost gets nowhere, and no other page frames the console', async (t) => {
  const { origin, session, asked, home } = await openConsole(t);
  const count = asked.length;
  const other = createServer((_, answer) => {
    answer.setHeader('content-type', 'text/html');
    answer.end(`<form method="post" action="${home}withdraw"><input name="id" value="17"><button>send</button></form>
<iframe src="${home}"></iframe>`);
  });
  await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening));
  t.teardown(() => other.close());
  const { port } = other.address() as AddressInfo;
  if (browser === undefined) throw new Error('there is no browser');
  const context = await browser.newContext({ javaScriptEnabled: false });
  t.teardown(() => context.close());
  const page = await context.newPage();
  await page.goto(`http://localhost:${port}/`);
  const frame = page.frames().find((each) => each !== page.mainFrame());
  t.false((await frame?.content())?.includes('Signet') ?? false);
  const framed = asked.length - count;
  await page.getByRole('button').click();
  await page.getByText('a form of another site was refused').waitFor();
  t.is(page.url(), `${home}withdraw`);
  t.deepEqual(asked.slice(count + framed), [], 'the API was not asked');
  t.true(home.startsWith(`${origin}/${session.path}/`));
});
