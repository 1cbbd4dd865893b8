import { ApiRefusedError, ask, tell } from './api.ts';
import { required } from './form-names.ts';
import { type ActionFunction, type Params, pathTo } from './page.ts';
import { requestShape } from './request-shapes.ts';
import { certificateShape } from './shapes.ts';

/** Notices above a page after an action, by the value of the parameter `done`. */
export const notices: ReadonlyMap<string, string> = new Map([
  ['requested', 'The request is made. It waits for approval.'],
  ['granted', 'The request needed no approval: it is applied.'],
  ['approved', 'Your approval counts. The request waits for others.'],
  ['applied', 'The change is approved and applied.'],
  ['rejected', 'The request is rejected.'],
  ['withdrawn', 'The request is withdrawn.'],
  ['revoked', 'The certificate is revoked.'],
]);

/** Everything that the console changes, by the paths of its forms. */
export const actions: ReadonlyMap<string, ActionFunction> = new Map<string, ActionFunction>([
  [
    'request-role',
    async ({ call }, fields) => {
      const body = { role: required(fields, 'role'), seconds: secondsOf(fields), reason: required(fields, 'reason') };
      const { id, state } = await ask(call, { method: 'POST', path: ['requests'], body }, requestShape);
      return done('request', { id: String(id) }, state === 'open' ? 'requested' : 'granted');
    },
  ],
  [
    'approve',
    async ({ call }, fields) => {
      const id = idOf(fields);
      const plan = fields.get('plan');
      const body = { ...(plan !== undefined && { plan }), ...commentOf(fields) };
      const { state } = await ask(call, { method: 'POST', path: ['requests', id, 'approval'], body }, requestShape);
      return done('request', { id }, state === 'open' ? 'approved' : 'applied');
    },
  ],
  [
    'reject',
    async ({ call }, fields) => {
      const id = idOf(fields);
      await tell(call, { method: 'POST', path: ['requests', id, 'rejection'], body: commentOf(fields) });
      return done('request', { id }, 'rejected');
    },
  ],
  [
    'withdraw',
    async ({ call }, fields) => {
      const id = idOf(fields);
      await tell(call, { method: 'DELETE', path: ['requests', id] });
      return done('request', { id }, 'withdrawn');
    },
  ],
  [
    'revoke',
    async ({ call }, fields) => {
      const serial = required(fields, 'serial');
      const path = ['certificates', serial, 'revocation'];
      await ask(call, { method: 'PUT', path, body: { reason: required(fields, 'reason') } }, certificateShape);
      return done('certificate', { serial }, 'revoked');
    },
  ],
]);

function done(page: string, params: Readonly<Record<string, string>>, notice: string): string {
  return pathTo(page, { ...params, done: notice });
}

function idOf(fields: Params): string {
  const id = required(fields, 'id');
  if (/^\d{1,15}$/.test(id)) return id;
  throw new ApiRefusedError(400, 'id must be a number');
}

function secondsOf(fields: Params): number {
  const seconds = required(fields, 'seconds');
  if (/^\d{1,9}$/.test(seconds)) return Number(seconds);
  throw new ApiRefusedError(400, 'seconds must be a number');
}

function commentOf(fields: Params): { readonly comment?: string } {
  const comment = fields.get('comment')?.trim();
  return comment ? { comment } : {};
}
