import { InvalidRequestError, InvalidScopeError, UnsupportedGrantError } from '@signet/server/errors';
import { parseTokenRequest } from '@signet/server/oauth/token-request';
import test from 'ava';

const form = (fields: Readonly<Record<string, string | undefined>>) =>
  new Map(
    Object.entries({ grant_type: 'client_credentials', scope: 'catalog:domain', ...fields }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
const scope = { kind: 'all-roles', domain: 'catalog' };

const read: readonly (readonly [fields: Readonly<Record<string, string>>, request: object])[] = [
  [{}, { scope }],
  [{ expires_in: '60' }, { scope, expiresInSeconds: 60 }],
  [{ expires_in: '0' }, { scope }],
  [{ expires_in: '000' }, { scope }],
  [{ expires_in: '1' }, { scope, expiresInSeconds: 1 }],
  [{ expires_in: '9'.repeat(40) }, { scope, expiresInSeconds: Number.MAX_SAFE_INTEGER }],
  [{ client_id: 'media.player' }, { scope, clientId: 'media.player' }],
  [{ something: 'else' }, { scope }],
];
for (const [fields, request] of read) {
  test(`reads ${JSON.stringify(fields)}`, (t) => {
    t.deepEqual(parseTokenRequest(form(fields)) as object, request);
  });
}

const client = (name: string) => `\`${name}\` is not accepted beside the client certificate`;
const refused: readonly (readonly [
  fields: Readonly<Record<string, string | undefined>>,
  error: new (...args: never) => Error,
  message: string | RegExp,
])[] = [
  [{ client_secret: 'x' }, InvalidRequestError, client('client_secret')],
  [{ client_assertion: 'x' }, InvalidRequestError, client('client_assertion')],
  [{ client_assertion_type: 'x' }, InvalidRequestError, client('client_assertion_type')],
  // Before anything else is looked at.
  [{ client_secret: 'x', grant_type: undefined }, InvalidRequestError, client('client_secret')],
  [{ grant_type: undefined }, InvalidRequestError, 'grant_type is missing'],
  [{ grant_type: 'password' }, UnsupportedGrantError, 'grant_type must be `client_credentials`'],
  [{ grant_type: 'Client_Credentials' }, UnsupportedGrantError, 'grant_type must be `client_credentials`'],
  [{ scope: undefined }, InvalidRequestError, 'scope is missing'],
  [{ scope: 'catalog' }, InvalidScopeError, /^scope holds an item/],
  ...['-1', '1.5', '1e3', ' 60', '60s', '0x10', 'NaN'].map(
    (text) => [{ expires_in: text }, InvalidRequestError, 'expires_in must be an integer (seconds)'] as const,
  ),
];
for (const [fields, error, message] of refused) {
  test(`refuses ${Object.entries(fields).join(' and ')}`, (t) => {
    t.throws(() => parseTokenRequest(form(fields)), { instanceOf: error, message });
  });
}
