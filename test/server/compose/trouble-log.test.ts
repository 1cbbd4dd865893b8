import { troubleLog } from '@signet/server/compose/trouble-log';
import { StoreUnavailableError } from '@signet/server/errors';
import test from 'ava';

test('a trouble is told when it begins, once a minute while it lasts, and when it has passed', (t) => {
  const lines: unknown[] = [];
  const note = (level: string) => (members: object, text: string) => lines.push({ level, ...members, text });
  const logger = { error: note('error'), info: note('info') } as unknown as Parameters<typeof troubleLog>[0];
  let now = 5000;
  const { failed, passed } = troubleLog(logger, { failing: 'it fails', passed: 'it works' }, () => now);
  const error = new StoreUnavailableError('gone', { detail: { file: 'a.db', code: 'EACCES' } });
  const told = { level: 'error', error: 'StoreUnavailableError: gone', file: 'a.db', code: 'EACCES', text: 'it fails' };
  passed();
  // A fault of two minutes and a half that is met every tenth of a second.
  for (let look = 0; look < 1500; look += 1, now += 100) failed(error);
  passed();
  passed();
  failed(new Error('other'));
  t.deepEqual(lines, [
    told,
    { ...told, failures: 601, seconds: 60 },
    { ...told, failures: 1201, seconds: 120 },
    { level: 'info', failures: 1500, seconds: 150, text: 'it works' },
    { level: 'error', error: 'Error: other', text: 'it fails' },
  ]);
});
