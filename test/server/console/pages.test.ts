import { escapeControlsOfLines } from '@signet/server/base/terminal-text';
import { pages } from '@signet/server/console/pages';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { HtmlValidate } from 'html-validate';
import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import { startConsole } from '#support/console-host';
import { stubCall, stubPages } from '#support/console-stub';

type Node = DefaultTreeAdapterTypes.ChildNode;

/** Elements and attributes of a page, and its texts. Attributes that are no text of the page are compared with their values. */
function readPage(body: string) {
  const structure: string[] = [];
  const texts: string[] = [];
  const visit = (node: Node): void => {
    if (node.nodeName === '#text') return void texts.push((node as DefaultTreeAdapterTypes.TextNode).value);
    if (!('tagName' in node)) return void structure.push(node.nodeName);
    structure.push(`${node.tagName} ${node.attrs.map(({ name }) => name).join(' ')}`);
    texts.push(...node.attrs.map(({ value }) => value));
    for (const child of node.childNodes) visit(child);
    structure.push(`/${node.tagName}`);
  };
  for (const child of parse(body).childNodes) visit(child);
  return { structure, texts };
}

async function show(t: ExecutionContext, text: string) {
  const { ask, opened } = await startConsole(t, stubCall(text));
  const path = await opened();
  return async (page: string) => (await ask(`${path}${encodeURI(page)}`)).body;
}

const validator = new HtmlValidate({
  extends: ['html-validate:recommended'],
  // Pages are made for browsers, not for readers of their source.
  rules: { 'no-trailing-whitespace': 'off' },
});

for (const page of stubPages) {
  test(`\`${page}\` is valid HTML without script, style or event handler`, async (t) => {
    const body = await (await show(t, 'A text'))(page);
    const { results } = validator.validateStringSync(body);
    t.deepEqual(
      results.flatMap(({ messages }) =>
        messages.map(({ ruleId, message, line }) => [ruleId, message, body.split('\n')[line - 1]]),
      ),
      [],
    );
    const { structure } = readPage(body);
    t.deepEqual(
      structure.filter((entry) =>
        /^(?:script|style|iframe|object|embed|base)\b| (?:on\w+|style|srcdoc|formaction)\b/.test(entry),
      ),
      [],
    );
  });
}

const hostile = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom('<', '>', '"', "'", '&', '/', '=', '\n', 'x', '-', '!', ' '),
    minLength: 1,
    maxLength: 30,
  }),
  fc.constantFrom(
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    '</textarea></title></svg><a href=javascript:x>',
    '\u202eevil',
  ),
);

test('hostile text in every field is text and changes no element of any page', async (t) => {
  t.timeout(120_000);
  const plain = await show(t, 'A text');
  const expected = new Map(
    await Promise.all(stubPages.map(async (page) => [page, readPage(await plain(page))] as const)),
  );
  const fields = new Map(
    [...expected].map(([page, { texts }]) => [page, texts.filter((text) => text.includes('A text')).length]),
  );
  t.true([...fields.values()].reduce((sum, count) => sum + count, 0) >= 30, 'the stub fills many fields');
  await fc.assert(
    fc.asyncProperty(hostile, async (text) => {
      const hostilePage = await show(t, text);
      // As JSON it is shown with its quotes escaped.
      const shown = [text, JSON.stringify(text).slice(1, -1)].map(escapeControlsOfLines);
      for (const page of stubPages) {
        const { structure, texts } = readPage(await hostilePage(page));
        t.deepEqual(structure, expected.get(page)?.structure, page);
        const found = texts.filter((each) => shown.some((one) => each.includes(one)));
        t.true(found.length >= (fields.get(page) ?? 0), `${page}: ${JSON.stringify(text)}`);
      }
    }),
    { numRuns: 40 },
  );
});

test('a hostile parameter of every page is text', async (t) => {
  const { ask, opened } = await startConsole(t, stubCall('A text'));
  const path = await opened();
  const bad = '"><script>alert(1)</script>';
  const names = [
    'name',
    'q',
    'principal',
    'action',
    'resource',
    'serial',
    'id',
    'state',
    'domain',
    'about',
    'actor',
    'since',
    'cursor',
    'done',
  ];
  const query = new URLSearchParams(Object.fromEntries(names.map((name) => [name, bad]))).toString();
  for (const page of pages.keys()) {
    const { structure } = readPage((await ask(`${path}${page}?${query}`)).body);
    t.deepEqual(
      structure.filter((entry) => entry.startsWith('script')),
      [],
      page,
    );
  }
});

test('every page is reached from home by links, and every link leads to a page', async (t) => {
  const { ask, opened } = await startConsole(t, stubCall('A text'));
  const path = await opened();
  const known = new Set<string>();
  const forms = new Set<string>();
  const waiting = ['./'];
  for (const link of waiting) {
    const url = new URL(link, `http://localhost${path}`);
    const page = url.pathname.slice(path.length);
    if (known.has(page)) continue;
    known.add(page);
    const { status, body } = await ask(`${url.pathname}${url.search}`);
    t.is(status, 200, link);
    for (const [, href = ''] of body.matchAll(/<a (?:class="[^"]*" )?href="([^"#]+)/g))
      waiting.push(href.replaceAll('&amp;', '&'));
    for (const [, href = ''] of body.matchAll(/<form method="get" action="([^"]+)"/g)) waiting.push(href);
    for (const [, to = ''] of body.matchAll(/<form method="post" action="([^"]+)"/g)) forms.add(to);
  }
  t.deepEqual([...known].toSorted(), [...pages.keys()].toSorted());
  t.deepEqual([...forms].toSorted(), ['approve', 'reject', 'request-role', 'revoke']);
});

test('every link of a page stays in the console', async (t) => {
  const page = await show(t, 'A text');
  for (const each of stubPages) {
    const body = await page(each);
    for (const [, target = ''] of body.matchAll(/(?:href|action|src)="([^"]*)"/g))
      t.regex(target, /^(?:#[\w-]+|\.\/|[a-z-]+(?:\.css|\.svg)?(?:\?[\w=&;.:%+*-]*)?(?:#[\w-]+)?)$/, each);
  }
});

test('no page makes more than 6 requests', async (t) => {
  const { call, asked } = stubCall('A text');
  const { ask, opened } = await startConsole(t, { call });
  const path = await opened();
  for (const page of stubPages) {
    asked.length = 0;
    await ask(`${path}${page}`);
    t.true(asked.length <= 6, `${page}: ${asked.length}`);
  }
});

test('of 50,000 members a page shows 50, and the way to the next', async (t) => {
  const members = Array.from({ length: 50_000 }, (_, at) => ({ name: `media.player-${String(at).padStart(5, '0')}` }));
  const { call } = stubCall('A text', ({ path, query }) => {
    if (path.at(-1) !== 'members') return undefined;
    const start = Number(query?.['cursor'] ?? 0);
    const end = start + Number(query?.['limit']);
    return { status: 200, body: { items: members.slice(start, end), next: String(end) } };
  });
  const { ask, opened } = await startConsole(t, { call });
  const path = await opened();
  const shown = async (page: string) => {
    const { body } = await ask(`${path}${page}`);
    return {
      names: [...body.replaceAll('<wbr>', '').matchAll(/<code>(media\.player-\d+)</g)].map(([, name]) => name),
      body,
    };
  };
  const first = await shown('role?name=films:role.viewer');
  t.deepEqual(
    first.names,
    members.slice(0, 50).map(({ name }) => name),
  );
  const [, next = ''] = /<a href="([^"]+)">Next page/.exec(first.body) ?? [];
  const second = await shown(next.replaceAll('&amp;', '&'));
  t.deepEqual(
    second.names,
    members.slice(50, 100).map(({ name }) => name),
  );
});
