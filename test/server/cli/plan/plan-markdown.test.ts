import { parseDomainName } from '@signet/policy-engine/names';
import { planMarkdown, problemsMarkdown } from '@signet/server/cli/plan/plan-markdown';
import test from 'ava';
import { accessOf, planOf, problemOf } from '#support/plans';

const changed = { change: 'change' as const };

test('totals, a table of domains, then what opens on demand', (t) => {
  const fields = [{ field: 'description', before: 'May watch', after: 'May look' }];
  const changes = [
    { ...changed, fields },
    { kind: 'member' as const, name: 'viewer: media.player' },
    { domain: parseDomainName('media'), change: 'delete' as const, kind: 'service' as const, name: 'guest' },
  ];
  const impact = [accessOf('gain', 'media.player', 'films', 'film'), accessOf('loss', 'media.guest', 'films', 'film')];
  t.is(
    planMarkdown(planOf(changes, { impact })),
    `### Signet plan: 1 to add, 1 to change, 1 to remove; 1 principal gains access, 1 loses access

| domain | add | change | remove | gain access | lose access |
| --- | ---: | ---: | ---: | ---: | ---: |
| \`films\` | 1 | 1 | 0 | 1 | 1 |
| \`media\` | 0 | 0 | 1 | 0 | 0 |

3 policy tests pass.

<details><summary>Access (2 lines)</summary>

**\`films\`**

\`\`\`diff
+ access: media.player: gains read on films:film (e.g. media.player read films:film)
- access: media.guest: loses read on films:film (e.g. media.guest read films:film)
\`\`\`

</details>

<details><summary>Changes (4 lines)</summary>

**\`films\`**

\`\`\`diff
! role viewer
    description: "May watch" -> "May look"
+ member viewer: media.player
\`\`\`

**\`media\`**

\`\`\`diff
- service guest
\`\`\`

</details>
`,
  );
});

test('nothing would change', (t) => {
  t.is(planMarkdown(planOf([])), '### Signet plan: nothing would change\n\n3 policy tests pass.\n');
});

/** Plan with changes and access of `domains`, each text as long as it may be shown. */
function largePlan(domains: number, text: string) {
  const names = Array.from({ length: domains }, (_, index) => `domain${index}`);
  return planOf(
    names.flatMap((name) => {
      const domain = parseDomainName(name);
      return [
        { domain, name: text },
        { domain, ...changed, fields: [{ field: 'description', after: text }] },
      ];
    }),
    {
      impact: names.map((name) => accessOf('gain', `${name}.api`, name, text)),
      warnings: names.map((_, line) => problemOf(line, text)),
      refusals: names.map((_, line) => problemOf(line, text)),
    },
  );
}

test('the summary of 200 changed domains fits one screen', (t) => {
  const lines = planMarkdown(largePlan(200, 'x')).split('\n');
  const summary = lines.indexOf('<details><summary>Refusals (195 lines)</summary>');
  t.true(summary > 0 && summary <= 40, `${summary} lines`);
  t.true(lines.includes('| and 185 more | | | | | |'));
  t.is(lines.filter((line) => line.startsWith('<details>')).length, 4);
});

for (const [note, text] of [
  ['plain text', 'x'.repeat(500)],
  ['text of three bytes a character', '\u{20AC}'.repeat(500)],
  ['fences', '`'.repeat(600)],
] as const) {
  test(`a plan that is too large for a comment is cut, every part of it: ${note}`, (t) => {
    const markdown = planMarkdown(largePlan(200, text));
    t.true(Buffer.byteLength(markdown) <= 65_000, `${Buffer.byteLength(markdown)} bytes`);
    for (const part of markdown.split('<details>').slice(1)) {
      t.regex(part, /^\n\d+ more lines: `signet plan --format json` lists all\.\n\n<\/details>/m);
      t.regex(part, /^`{3,}diff\n/m, 'there is room for something of each');
    }
  });
}

test('a plan that nearly fills a comment is whole', (t) => {
  const markdown = planMarkdown(planOf(Array.from({ length: 600 }, () => ({ name: 'x'.repeat(95) }))));
  t.true(Buffer.byteLength(markdown) > 60_000);
  t.false(markdown.includes('more lines'));
});

const hostile = [
  '</details><script>alert(1)</script>',
  '```\n# heading',
  '````',
  '@everybody #1 [x](https://evil.example)',
  'a\u202Eb\u0000',
  '| a | b |',
  '<!-- signet -->',
];

for (const text of hostile) {
  test(`what people wrote stands in a fence alone: ${JSON.stringify(text)}`, (t) => {
    const markdown = planMarkdown(
      planOf([{ name: text, fields: [{ field: 'description', after: text }] }], {
        impact: [accessOf('gain', text, 'films', text)],
        warnings: [problemOf(1, text)],
        refusals: [problemOf(2, text)],
      }),
    );
    const outside: string[] = [];
    let fence: string | undefined;
    for (const line of markdown.split('\n')) {
      const marks = /^(`{3,})(?:diff)?$/.exec(line)?.[1];
      if (fence === undefined && marks !== undefined) fence = marks;
      else if (fence !== undefined && marks !== undefined && marks.length >= fence.length) fence = undefined;
      else if (fence === undefined) outside.push(line);
    }
    t.is(fence, undefined);
    t.notRegex(outside.join('\n'), /script|evil|everybody|heading|<!--|\u202E|a \| b/);
    t.notRegex(markdown, /[[\p{Cc}\p{Cf}]--[\n]]/v);
  });
}

test('documents of which no plan can be made: the first problems, and the rest on demand', (t) => {
  const markdown = problemsMarkdown(Array.from({ length: 7 }, (_, index) => problemOf(index + 1)));
  t.regex(
    markdown,
    /^### Signet plan: problems in the documents: 7\n\n```diff\n(- films\.yaml:\d:1: roles: is wrong\n){5}```\n/,
  );
  t.regex(markdown, /<summary>Problems \(2 lines\)<\/summary>\n\n```diff\n(- .*\n){2}```\n\n<\/details>\n$/);
  t.false(problemsMarkdown([problemOf(1)]).includes('details'));
});

test('an impact that cannot be told, or not in full, is said', (t) => {
  const { impact: _, ...plan } = planOf([{}]);
  const unknown = planMarkdown({ ...plan, totals: { add: 1, change: 0, remove: 0 } });
  t.true(
    unknown.startsWith('### Signet plan: 1 to add, 0 to change, 0 to remove; changes of access cannot be determined\n'),
  );
  t.true(unknown.includes('| `films` | 1 | 0 | 0 | ? | ? |') && unknown.includes('the patterns are too complex'));
  const impact = [accessOf('gain', 'media.player', 'films', 'film')];
  const impactTotals = { gains: 5000, losses: 2, isExact: true };
  t.regex(planMarkdown(planOf([{}], { impact, impactTotals })), /too large to list: 5000 gains and 2 losses/);
});
