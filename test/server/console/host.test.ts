import { networkInterfaces } from 'node:os';
import test from 'ava';
import { formType, startConsole } from '#support/console-host';
import { stubCall } from '#support/console-stub';

const sameSite = { ...formType, 'sec-fetch-site': 'same-origin' };
const runHint = 'run `signet console` for a link that is valid\n';

test('a link leads to the session once', async (t) => {
  const { ask, session } = await startConsole(t, stubCall('text'));
  const first = await ask(`/open/${session.code}`);
  t.is(first.status, 303);
  t.is(first.headers.location, `/${session.path}/`);
  t.not(session.code, session.path);
  const again = await ask(`/open/${session.code}`);
  t.like(again, { status: 404, body: runHint });
  t.is((await ask(`/${session.path}/`)).status, 200, 'the session lasts');
});

test('a link is good for 60 seconds', async (t) => {
  const { ask, session, clock } = await startConsole(t, stubCall('text'));
  clock.now += 60_001;
  t.is((await ask(`/open/${session.code}`)).status, 404);
  clock.now -= 1;
  t.is((await ask(`/open/${session.code}`)).status, 303);
});

test('a lasting link is good again and later, and its session does not end', async (t) => {
  const { ask, session, clock } = await startConsole(t, { ...stubCall('text'), isLasting: true });
  t.is((await ask(`/open/${session.code}`)).status, 303);
  clock.now += 9 * 3_600_000;
  t.is((await ask(`/open/${session.code}`)).status, 303);
  t.is((await ask(`/${session.path}/`)).status, 200);
  t.false(session.isOver());
});

test('a session ends after an hour without use, and after eight in all', async (t) => {
  const idle = await startConsole(t, stubCall('text'));
  const path = await idle.opened();
  idle.clock.now += 3_600_001;
  t.true(idle.session.isOver());
  t.like(await idle.ask(path), { status: 404, body: runHint });
  const used = await startConsole(t, stubCall('text'));
  const usedPath = await used.opened();
  for (let hours = 0; hours < 8; hours += 1) {
    used.clock.now += 3_600_000;
    t.is((await used.ask(usedPath)).status, 200, `after ${hours + 1} hours`);
  }
  used.clock.now += 1;
  t.is((await used.ask(usedPath)).status, 404);
});

for (const host of [
  'localhost',
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1',
  'evil.example:PORT',
  '127.0.0.1:PORT',
  'LOCALHOST:PORT',
  'localhost:1',
  '',
]) {
  test(`a request for the host \`${host}\` gets nowhere`, async (t) => {
    const { ask, session, origin } = await startConsole(t, stubCall('text'));
    const headers = { host: host.replace('PORT', new URL(origin).port) };
    for (const path of [`/open/${session.code}`, `/${session.path}/`, '/']) {
      t.like(await ask(path, { headers }), { status: 421, body: `this is ${origin} and nothing else\n` });
    }
    t.is((await ask(`/open/${session.code}`)).status, 303, 'the link was not spent');
  });
}

for (const path of [
  '/',
  '/open',
  '/open/',
  '/open/x',
  '/session/',
  '/favicon.ico',
  '/SESSIO/',
  '/SESSION',
  '/SESSION/domain/x',
  '/open/CODE/',
  '/SESSION/../x',
]) {
  test(`the guessed path ${path} tells nothing`, async (t) => {
    const { ask, session, opened } = await startConsole(t, stubCall('text'));
    await opened();
    const real = path
      .replace('SESSION', session.path)
      .replace('SESSIO', session.path.slice(1))
      .replace('CODE', session.code);
    t.like(await ask(real), { status: 404, body: runHint });
  });
}

test('an address of another origin is none of ours', async (t) => {
  const { ask, session } = await startConsole(t, stubCall('text'));
  for (const path of [`//evil.example/${session.path}/`, `http://evil.example/${session.path}/`, 'http://['])
    t.like(await ask(path), { status: 400, body: 'the address cannot be read\n' }, path);
});

test('a form is taken from a page of this origin only', async (t) => {
  const { call, asked } = stubCall('text');
  const { ask, opened } = await startConsole(t, { call });
  const path = await opened();
  const body = 'id=17';
  for (const site of [undefined, 'cross-site', 'same-site', 'none', 'SAME-ORIGIN', '']) {
    const headers = { ...formType, ...(site !== undefined && { 'sec-fetch-site': site }) };
    t.like(
      await ask(`${path}withdraw`, { method: 'POST', headers, body }),
      { status: 403, body: 'a form of another site was refused\n' },
      site,
    );
  }
  t.deepEqual(asked, []);
  const done = await ask(`${path}withdraw`, { method: 'POST', headers: sameSite, body });
  t.like(done, { status: 303 });
  t.is(done.headers.location, 'request?id=17&done=withdrawn');
  t.deepEqual(asked, [{ method: 'DELETE', path: ['requests', '17'] }]);
});

test('a form that is none, or too long, is refused', async (t) => {
  const { call, asked } = stubCall('text');
  const { ask, opened } = await startConsole(t, { call });
  const path = await opened();
  const post = (body: string, type = sameSite['content-type']) =>
    ask(`${path}withdraw`, { method: 'POST', headers: { ...sameSite, 'content-type': type }, body });
  t.is((await post('{"id":17}', 'application/json')).status, 400);
  t.is((await post('id=17', 'text/plain')).status, 400);
  t.is((await post(`id=17&comment=${'x'.repeat(16_384 - 'id=17&comment='.length)}`)).status, 303);
  t.is((await post(`id=17&comment=${'x'.repeat(16_385 - 'id=17&comment='.length)}`)).status, 400);
  t.is(asked.length, 1);
});

test('other methods are refused', async (t) => {
  const { ask, opened, session } = await startConsole(t, stubCall('text'));
  const path = await opened();
  for (const method of ['PUT', 'DELETE', 'OPTIONS', 'PATCH']) t.is((await ask(path, { method })).status, 405, method);
  t.like(await ask(path, { method: 'HEAD' }), { status: 200, body: '' });
  t.is((await ask(`/open/${session.code}`, { method: 'POST' })).status, 404);
});

test('every answer has the headers', async (t) => {
  const { ask, opened, session } = await startConsole(t, stubCall('text'));
  const path = await opened();
  const answers = await Promise.all([
    ask(path),
    ask(`${path}domain?name=films`),
    ask(`${path}console.css`),
    ask(`${path}icon.svg`),
    ask(`${path}nothing`),
    ask('/'),
    ask(`/open/${session.code}`),
    ask('/', { headers: { host: 'evil.example' } }),
    ask(`${path}withdraw`, { method: 'POST', headers: sameSite, body: 'id=17' }),
    ask(path, { method: 'PUT' }),
  ]);
  for (const { headers, status } of answers) {
    t.like(
      headers,
      {
        'content-security-policy':
          "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      },
      String(status),
    );
    t.false('set-cookie' in headers);
  }
});

test('the port is taken on every loopback address, and on no other', async (t) => {
  const { ask, session, origin } = await startConsole(t, stubCall('text'));
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  for (const { address, internal } of own) {
    if (address.startsWith('fe80')) continue;
    const answer = ask(`/${session.path}/`, { address });
    if (internal) t.is((await answer).status, 200, address);
    else await t.throwsAsync(answer, { message: /ECONNREFUSED|EHOSTUNREACH/ }, address);
  }
  await t.throwsAsync(startConsole(t, { ...stubCall('text'), port: Number(new URL(origin).port) }), {
    message: /^--port: port \d+ of `127.0.0.1` is in use/,
  });
});
