import { type PrincipalTokenUse, principalTokenUses } from '@signet/server/http/principal-token-use';
import { profiles } from '@signet/server/profile';
import test from 'ava';

/* Use of a principal token on each kind of request, in both profiles. */

const uses = {
  signet: principalTokenUses(profiles.signet, '/v1'),
  athenz: principalTokenUses(profiles.athenz, '/zts/v1'),
};
const [calls, recently, confirms] = ['names-caller', 'names-caller-recently', 'confirms'] as const;

const cases: readonly (readonly [profile: keyof typeof uses, request: string, use: PrincipalTokenUse])[] = [
  ['signet', 'GET /v1/access/read/catalog:movie', calls],
  ['signet', 'HEAD /v1/access/read/catalog:movie', calls],
  ['signet', 'GET /v1/access/', confirms],
  ['signet', 'GET /v1/access', confirms],
  ['signet', 'POST /v1/access/read/catalog:movie', confirms],
  ['signet', 'GET /x/v1/access/read', confirms],
  ['signet', 'GET /v1xaccess/read', confirms],
  ['signet', 'POST /v1/oauth2/token', confirms],
  ['signet', 'GET /management/v1/access/read', calls],
  ['signet', 'HEAD /management/v1/access/read', calls],
  ['signet', 'POST /management/v1/access/read', confirms],
  ['signet', 'GET /management/v1/domain/media', recently],
  ['signet', 'HEAD /management/v1/domain/media', recently],
  ['signet', 'PUT /management/v1/domain/media', confirms],
  ['signet', 'DELETE /management/v1/domain/media', confirms],
  ['signet', 'GET /management/v1', confirms],
  ['athenz', 'POST /zts/v1/oauth2/token', calls],
  ['athenz', 'GET /zts/v1/oauth2/token', confirms],
  ['athenz', 'POST /zts/v1/oauth2/token/x', confirms],
  ['athenz', 'GET /zts/v1/domain/media/signed_policy_data', calls],
  ['athenz', 'GET /zts/v1/domain/media/x/signed_policy_data', confirms],
  ['athenz', 'GET /zts/v1/domain//signed_policy_data', confirms],
  ['athenz', 'GET /zts/v1/domain/media/service/player/publickey/0', calls],
  ['athenz', 'GET /zts/v1/.well-known/openid-configuration', calls],
  ['athenz', 'GET /zts/v1/xwell-known/openid-configuration', confirms],
  ['athenz', 'POST /zts/v1/instance/media/player/refresh', calls],
  ['athenz', 'POST /zts/v1/instance/sys.auth.zts/media/player/refresh', confirms],
  ['signet', 'POST /v1/instance/media/player/refresh', confirms],
  ['athenz', 'GET /zts/v1/crl', calls],
  ['athenz', 'GET /zts/v1/crl/a/b', confirms],
  ['athenz', 'POST /zts/v1/instance', confirms],
  ['athenz', 'GET /management/v1/domain/media', recently],
];
for (const [profile, request, use] of cases) {
  test(`${profile}: ${request}`, (t) => {
    const [method = '', path = ''] = request.split(' ');
    t.is(uses[profile](method, path), use);
  });
}
