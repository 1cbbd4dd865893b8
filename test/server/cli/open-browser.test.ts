import { browserCommand } from '@signet/server/cli/login/open-browser';
import test from 'ava';

/* A browser is opened where somebody can see it. */

const cases = [
  ['linux', {}, undefined],
  ['linux', { DISPLAY: '' }, undefined],
  ['linux', { DISPLAY: ':0' }, ['xdg-open']],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, ['xdg-open']],
  ['darwin', {}, ['open']],
  ['win32', {}, ['rundll32', 'url.dll,FileProtocolHandler']],
  ['aix', { DISPLAY: ':0' }, undefined],
] as const;
for (const [platform, environment, command] of cases) {
  test(`${platform} with ${JSON.stringify(environment)}: ${command?.join(' ') ?? 'none'}`, (t) => {
    t.deepEqual(browserCommand(platform, environment), command as never);
  });
}
