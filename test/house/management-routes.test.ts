import Router from '@koa/router';
import { managementPath, mountManagementRoutes } from '@signet/server/http/management/index';
import type { ManagementRouteDeps } from '@signet/server/http/management/management-deps';
import type { StatedRoute } from '@signet/server/http/management/routes';
import type { AccessDeps } from '@signet/server/http/routes/access-route';
import test from 'ava';

/* Callers without the right are refused before the server does any work for them (docs/reference/http.md#order-of-checks). */

const router = new Router();
const deps = { basePath: managementPath, quotas: { members: 1 } } as unknown as ManagementRouteDeps;
const stated = mountManagementRoutes(router as never, deps, {} as AccessDeps, 1024);

const keyOf = ({ method, path }: Pick<StatedRoute, 'method' | 'path'>) => `${method.toUpperCase()} ${path}`;

test('every operation of the management API states its right, or why its path alone does not tell', (t) => {
  const served = router.stack.map(({ methods, path }) => `${methods.filter((one) => one !== 'HEAD')} ${String(path)}`);
  t.deepEqual([...served].sort(), stated.map(keyOf).sort(), 'mount operations with `ManagementRoutes`');
  for (const route of stated) if (route.needs.kind === 'untold') t.true(route.needs.why.length > 10, keyOf(route));
});

test('every operation asks for the right before it reads the body', (t) => {
  for (const { methods, path, stack } of router.stack) {
    t.is(stack[0]?.name, 'authorize', `${methods} ${String(path)}`);
  }
});

test('only paths of a new domain, documents, requests and certificates do not tell the right to change something', (t) => {
  const changes = stated.filter(({ method, needs }) => method !== 'get' && needs.kind === 'untold');
  t.deepEqual(changes.map(keyOf), [
    ...['/domains', '/plan', '/apply', '/requests', '/requests/:id/approval', '/requests/:id/rejection'].map(
      (path) => `POST ${managementPath}${path}`,
    ),
    `DELETE ${managementPath}/requests/:id`,
    `PUT ${managementPath}/certificates/:serial/revocation`,
  ]);
});
