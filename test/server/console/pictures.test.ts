import { formatTimestamp } from '@signet/policy-engine/clock';
import { membershipSpans } from '@signet/server/console/pictures/membership-spans';
import { placeAcross, placeDown } from '@signet/server/console/pictures/place-boxes';
import { dayMs, drawTimeline } from '@signet/server/console/pictures/timeline';
import test from 'ava';
import { stubNow } from '#support/console-stub';

const box = (kind: string, text: string) => ({ kind, text, tone: 'plain' }) as const;
const picture = {
  title: 'title',
  description: 'words',
  rows: [
    [box('principal', 'media.player')],
    [box('role', 'reader'), box('group', 'media:group.with-a-long-name-that-needs-lines'), box('and', '7 more')],
    [box('nearest assertion, differs in action and resource', `ALLOW read on catalog:${'movie.'.repeat(40)}`)],
  ],
};

type Place = Pick<ReturnType<typeof placeDown>['boxes'][number], 'left' | 'top' | 'width' | 'height'>;

function areApart(one: Place, other: Place): boolean {
  return [
    one.left + one.width <= other.left,
    other.left + other.width <= one.left,
    one.top + one.height <= other.top,
    other.top + other.height <= one.top,
  ].includes(true);
}

for (const [name, place] of [
  ['down', placeDown],
  ['across', placeAcross],
] as const) {
  test(`${name}: boxes hold their texts, do not overlap, and lie in the picture`, (t) => {
    for (const width of [280, 320, 640, 1000]) {
      const { boxes, height, arrows } = place(picture, width);
      t.is(boxes.length, 5);
      t.is(arrows.length, 3 + 3);
      for (const one of boxes) {
        t.true(one.left >= 0 && one.top >= 0, `${width}`);
        t.true(one.left + one.width <= width && one.top + one.height <= height + 0.01, `${width}`);
        for (const { y } of [...one.kind, ...one.text]) t.true(y > one.top && y < one.top + one.height);
        const touching = boxes.filter((other) => other !== one && !areApart(one, other));
        t.deepEqual(touching, [], `${width}`);
      }
    }
  });
}

test('texts are broken behind separators, and cut off after four lines', (t) => {
  const { boxes } = placeDown(picture, 320);
  const lines = boxes.map(({ text }) => text.map((line) => line.text));
  t.deepEqual(lines[0], ['media.player']);
  t.deepEqual(lines[2]?.slice(0, 2), ['media:', 'group.']);
  t.is(lines[4]?.length, 4);
  t.true(lines[4]?.at(-1)?.endsWith('…'));
});

const at = (days: number) => formatTimestamp(stubNow + days * dayMs);
const viewer = (...members: readonly object[]) => ({ roles: [{ name: 'viewer', members }] });
const ann = (more: object = {}) => ({ name: 'user.ann', disabled: false, ...more });
const change = (days: number, before: unknown, after: unknown, subject = 'films') => ({
  id: 1,
  at: at(days),
  actor: 'user.bob',
  action: 'change',
  subject,
  before,
  after,
});
const label = 'films:role.viewer';
const hit = { domain: 'films', kind: 'role', name: 'viewer', entry: 'user.ann' } as const;

test('a membership of today begins with its record, or before all of them', (t) => {
  const span = { label, kind: 'membership' } as const;
  const joined = change(-10, viewer(), viewer(ann()));
  t.deepEqual(membershipSpans('user.ann', [hit], [joined]), [{ ...span, from: stubNow - 10 * dayMs }]);
  t.deepEqual(membershipSpans('user.ann', [hit], []), [span]);
  t.deepEqual(membershipSpans('user.ann', [{ ...hit, expires: at(5) }], [joined]), [
    { ...span, from: stubNow - 10 * dayMs, until: stubNow + 5 * dayMs },
  ]);
  t.deepEqual(membershipSpans('user.ann', [{ ...hit, disabled: true }], []), []);
});

test('memberships that were removed, disabled or expired', (t) => {
  const until = stubNow - 20 * dayMs;
  const joined = change(-30, viewer(), viewer(ann({ expires: until })));
  const left = change(-25, viewer(ann({ expires: until })), viewer());
  const cleaned = change(-5, viewer(ann({ expires: until })), viewer());
  const disabled = change(-25, viewer(ann()), viewer(ann({ disabled: true })));
  const from = stubNow - 30 * dayMs;
  const span = { label, kind: 'membership' } as const;
  t.deepEqual(membershipSpans('user.ann', [], [left, joined]), [
    { ...span, from, until: stubNow - 25 * dayMs, isCut: true },
  ]);
  t.deepEqual(membershipSpans('user.ann', [], [cleaned, joined]), [{ ...span, from, until }]);
  t.deepEqual(membershipSpans('user.ann', [], [disabled]), [{ ...span, until: stubNow - 25 * dayMs, isCut: true }]);
});

test('a longer membership, one that came back, and one of somebody else', (t) => {
  const from = stubNow - 30 * dayMs;
  const joined = change(-30, viewer(), viewer(ann({ expires: stubNow })));
  const longer = change(-20, viewer(ann({ expires: stubNow })), viewer(ann({ expires: stubNow + dayMs })));
  const other = change(-19, viewer(), viewer({ name: 'user.bob' }));
  const left = change(-10, viewer(ann()), viewer());
  const back = change(-8, viewer(), viewer(ann()));
  t.deepEqual(membershipSpans('user.ann', [hit], [back, left, other, longer, joined]), [
    { label, kind: 'membership', from: stubNow - 8 * dayMs },
    { label, kind: 'membership', from, until: stubNow - 10 * dayMs, isCut: true },
  ]);
});

test('records in other forms are no memberships', (t) => {
  const odd = [
    undefined,
    null,
    'text',
    { roles: 'x' },
    { roles: [{ members: [] }] },
    { groups: [{ name: 'g', members: ['user.ann'] }] },
  ];
  t.deepEqual(
    membershipSpans(
      'user.ann',
      [],
      odd.map((side) => change(-1, side, side)),
    ),
    [],
  );
});

test('bars of a timeline keep to its 90 days and the next 30', (t) => {
  const spans = [
    { label: 'always', kind: 'membership' },
    { label: 'half', kind: 'certificate', from: stubNow - 30 * dayMs, until: stubNow, isCut: true },
    { label: 'short', kind: 'membership', from: stubNow, until: stubNow + 1000 },
  ] as const;
  const drawn = drawTimeline('title', spans, stubNow).toString();
  const [wide = ''] = drawn.split('</svg>');
  const bars = [...wide.matchAll(/<rect class="([^"]+)" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/g)].map(
    ([, ...bar]) => bar,
  );
  t.deepEqual(bars, [
    ['membership', '1', '998'],
    ['certificate cut', '500', '249.5'],
    ['membership', '749.5', '3'],
  ]);
});
