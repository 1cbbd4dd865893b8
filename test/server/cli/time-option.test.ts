import { timeOf } from '@signet/server/cli/manage/commands';
import test from 'ava';

test('a time is one as the server reads it, or how far away it is', (t) => {
  t.is(timeOf('2027-01-01T00:00:00Z'), '2027-01-01T00:00:00Z');
  t.regex(timeOf('99999m'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  for (const text of ['2027-01-01', '0d', '100000m', '7 d', 'tomorrow', '']) {
    t.throws(() => timeOf(text), {
      name: 'UsageError',
      message: `\`${text}\` is not a time: use one such as \`2027-01-01T00:00:00Z\`, \`7d\`, \`12h\` or \`30m\``,
    });
  }
});
