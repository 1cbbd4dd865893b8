import type { RouterMiddleware } from '@koa/router';
import { callingHost } from '../../instances/calling-host.ts';
import type { CertificateStore } from '../../model/certificate-store.ts';
import type { InstanceStore } from '../../model/instance-store.ts';
import type { Store } from '../../model/store.ts';
import { type IssueSshDeps, issueHostCertificate, issueUserCertificate } from '../../ssh/issue-ssh.ts';
import { parseSshRevocation, revokeSsh } from '../../ssh/revoke-ssh.ts';
import { createKrlPublisher, type KrlRevocations } from '../../ssh/revoked-krl.ts';
import { parseSshCertRequest } from '../../ssh/ssh-csr.ts';
import type { NamingRules } from '../../x509/naming.ts';
import { bodyJson } from '../body.ts';
import { callerHas, entityMarkOf } from '../cached-answer.ts';
import { comparedFor } from '../compared-for.ts';
import { answerJson, type RequestState, requireCaller, requireIdentity, requirePrincipal } from '../context.ts';

export interface SshRouteDeps {
  readonly issue: IssueSshDeps;
  readonly certificates: Pick<CertificateStore, 'find' | 'revocationsAfter' | 'lastRevocation'>;
  readonly instances: Pick<InstanceStore, 'statusOf'>;
  readonly store: Pick<Store, 'change'>;
  readonly naming: NamingRules;
  /** Maximum cache lifetime of the revocation list. */
  readonly krlMaxAgeSeconds: number;
  readonly revocations: KrlRevocations;
}

/**
 * `POST /sshcert`: an SSH certificate for the holder of the connection's certificate, which it does not outlive: 201
 * (docs/reference/certificates.md#ssh-certificates).
 */
export function sshCertificateRoute(deps: SshRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    // INVARIANT: a principal token is not enough here, as it may name another principal than the certificate, whose expiry and names apply.
    const caller = requireCaller(ctx);
    const request = parseSshCertRequest(bodyJson(ctx));
    const { serial, issuedAt, notAfter } = caller.certificate;
    const asking = { serial, issuedAt, notAfter: Math.floor(notAfter / 1000) };
    const issued =
      request.kind === 'user'
        ? await issueUserCertificate(
            deps.issue,
            { principal: caller.principal, asking, compared: comparedFor(ctx) },
            request,
          )
        : await issueHostCertificate(deps.issue, await callingHost(deps, caller, asking), request);
    ctx.status = 201;
    ctx.set('Cache-Control', 'no-store');
    answerJson(
      ctx,
      JSON.stringify({ certificates: [{ certificate: issued.certificate }], certificateSigner: issued.signer }),
    );
  };
}

/** `POST /sshcert/revoke`: by serial number or key id; its owner may, and an operator. Answers how many were in force. */
export function sshRevokeRoute({ issue, store }: SshRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const { name: actor } = requireIdentity(ctx);
    const revocation = parseSshRevocation(bodyJson(ctx));
    const { requestId, certificate } = ctx.state;
    const serial = certificate && { certificateSerial: certificate.serial };
    const context = { actor, requestId, reason: revocation.reason, ...serial };
    const revoked = await revokeSsh({ ...issue, store }, { principal: actor, certificate }, revocation, context);
    answerJson(ctx, JSON.stringify({ revoked }));
  };
}

/** `GET /sshcert/krl`: what is revoked, in the form that `RevokedKeys` of sshd reads. */
export function sshRevocationsRoute({
  issue,
  certificates,
  krlMaxAgeSeconds,
  revocations: live,
}: SshRouteDeps): RouterMiddleware<RequestState> {
  const authorities = [issue.authorities.host, issue.authorities.user].filter((one) => one !== undefined);
  const current = createKrlPublisher({ certificates, authorities, clock: issue.clock, live });
  return async (ctx) => {
    requirePrincipal(ctx);
    const krl = await current();
    if (callerHas(ctx, entityMarkOf(krl), krlMaxAgeSeconds)) return;
    ctx.set('Content-Type', 'application/octet-stream');
    ctx.body = krl;
  };
}
