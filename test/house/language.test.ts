import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { top } from '../limits/constants.ts';

/* Messages, comments and documents use the terms of the field, so that people can search for them. */

/** What is not said, and what is said instead. */
const words: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\b(?:takes?|took|taken) (?:[a-z]+ )?back (?:the|every|a) (?:certificate|key|token)|\bwas taken back\b/, 'revoke'],
  [/\bobligatory\b/, 'required'],
  [/\b(?:list|lists) of texts\b/, 'array of strings'],
  [/\b(?:is|are) no (?:text|texts|object|list|number|whole number|truth value)\b/, 'must be a string, an object, …'],
  [/\bwhole number\b/, 'integer'],
  [/\bmust be a (?:text|list)\b/, 'must be a string, an array'],
  [/\b(?:is|are) nobody\b/, 'disabled: cannot authenticate'],
  [/\bswitched off\b/, 'disabled'],
  [/\bone-time tokens?\b/, 'join token'],
  [/\banew\b/, 'again, reissue, reload'],
  [/\bunfit\b|\bnot fit to\b/, 'cannot be used'],
  [/\bmend(?:s|ed)?\b/, 'fix'],
  [/\bpatience\b/, 'timeout, retry'],
  [/\bTokenDoor\b|\bLockPatience\b|\bwhoMay\b|\bGreeting\b/, 'a term of the field'],
  [/: Need\b|\bAsked(?:Access|Name|Uri)\b|[.#]standing\(/, 'RequiredAccess, RequestedName, statusOf'],
  [
    /\bno rules? match|\b(?:adds?|takes?) a rule\b|\bdescribeRule\b|\b(?:Conditional|Domain|Authority|Shown)Rules?\b/,
    'assertion',
  ],
  [/\bspeaks? of\b/, 'name, concern'],
  [/\btak(?:e|es|en|ing) (?:[a-z`]+ ){0,3}away\b/, 'remove, revoke'],
  [/\b(?:text|list|it) is none\b|\ba list that is none\b/, 'is not a …'],
];

const files = globSync(['*/{src,bin}/**/*.ts', '{*,docs/**/*,*/README}.md'], { cwd: top }).filter(
  (file) => !/node_modules|\bdist\b|docs\/site\/made|CHANGELOG/.test(file),
);

for (const [written, instead] of words) {
  const phrase = new RegExp(written, 'i');
  test(`not ${phrase.source}: ${instead}`, (t) => {
    const found = files.flatMap((file) =>
      readFileSync(join(top, file), 'utf8')
        .split('\n')
        .flatMap((line, index) => (phrase.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
    t.deepEqual(found, []);
  });
}
