import { deflateRawSync } from 'node:zlib';
import test from 'ava';

/* Links carry an example in their fragment. Whoever made one may be anybody. */

const playground = new URL('../../docs/site/playground/', import.meta.url);
const part = (name: string) => import(new URL(name, playground).href);
const { examples }: typeof import('../../docs/site/playground/examples.ts') = await part('examples.ts');
const { linkBounds, linkOf, openLink }: typeof import('../../docs/site/playground/link.ts') = await part('link.ts');
const { linkPrefix }: typeof import('../../docs/site/playground/link-prefix.ts') = await part('link-prefix.ts');

const packed = (text: string) => `${linkPrefix}${deflateRawSync(text).toString('base64url')}`;
const [example] = examples;
const state = example?.state;

for (const { id, state } of examples) {
  test(`example ${id} comes back from its link`, async (t) => {
    const whole = { ...state, baseline: 'domain: catalog\n# é 映画 🎬\n' };
    const link = await linkOf(whole);
    t.regex(link ?? '', /^#example=[\w-]{1,2000}$/);
    t.deepEqual(await openLink(link ?? ''), { kind: 'ok', state: whole });
  });
}

const hostile: [note: string, fragment: string, why: string][] = [
  ['another fragment', '#a-heading', 'it is malformed'],
  ['nothing', linkPrefix, 'it is malformed'],
  ['other characters', `${linkPrefix}<img src=x>`, 'it is malformed'],
  ['not compressed', `${linkPrefix}AAAA`, 'it is malformed'],
  ['cut off', packed(JSON.stringify(state)).slice(0, -9), 'it is malformed'],
  ['not JSON', packed('{'), 'it is malformed'],
  ['another value', packed('[]'), 'it carries no example'],
  ['an unknown member', packed(JSON.stringify({ ...state, html: '<b>' })), 'it carries no example'],
  ['another type', packed(JSON.stringify({ ...state, tests: {} })), 'it carries no example'],
  ['a prototype', packed(JSON.stringify(state).replace('{', '{"__proto__":{},')), 'it carries no example'],
  [
    'a field that is too long',
    packed(JSON.stringify({ ...state, tests: 'x'.repeat(262_145) })),
    'it carries no example',
  ],
  [
    'a question that is too long',
    packed(JSON.stringify({ ...state, question: { ...state?.question, action: 'x'.repeat(2049) } })),
    'it carries no example',
  ],
  ['too long', `${linkPrefix}${'A'.repeat(linkBounds.characters + 1)}`, 'it is too long'],
  ['what grows a thousandfold', packed('x'.repeat(linkBounds.bytes + 1)), 'what it carries is too large'],
];
for (const [note, fragment, why] of hostile) {
  test(`a hostile link is refused: ${note}`, async (t) => {
    t.deepEqual(await openLink(fragment), { kind: 'bad', message: `the link cannot be opened: ${why}` });
  });
}

test('the longest texts and fields are still carried', async (t) => {
  const longest = {
    ...state,
    tests: 'x'.repeat(262_144),
    question: { principal: 'x'.repeat(2048), action: '', resource: '', context: '' },
  };
  t.deepEqual(await openLink(packed(JSON.stringify(longest))), { kind: 'ok', state: longest });
});

test('what is too long for a link gets none', async (t) => {
  const noise = Array.from({ length: 40_000 }, (_, at) => (at * 2_654_435_761).toString(36))
    .join('')
    .slice(0, 250_000);
  t.is(await linkOf({ ...(state ?? (await Promise.reject(new Error('no example')))), documents: noise }), undefined);
});
