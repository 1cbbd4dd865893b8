import { revocationReasons } from '../../model/certificate-store.ts';
import { stateBadge } from '../certificate-parts.ts';
import { required } from '../form-names.ts';
import { type Html, html } from '../html.ts';
import type { PageFunction } from '../page.ts';
import { code, facts, nameLink, time } from '../parts.ts';
import { readCertificate } from '../questions.ts';
import type { ShownCertificate } from '../shapes.ts';

/** A certificate, and the confirmation of its revocation. */
export const certificatePage: PageFunction = async ({ call, now }, params) => {
  const certificate = await readCertificate(call, required(params, 'serial'));
  const { serial, kind, subject, holder, provider, instanceId, notBefore, notAfter, state, revoked } = certificate;
  const body = html`<h1>Certificate ${code(serial)}</h1>
<p class="badges">${stateBadge(certificate)}</p>
${facts([
  ['Holder', nameLink(holder)],
  ['Kind', kind],
  ['Subject', code(subject)],
  ['Attested by', provider !== undefined && nameLink(provider)],
  ['Instance', instanceId !== undefined && code(instanceId)],
  ['From', time(notBefore, now)],
  ['Until', time(notAfter, now)],
  ['Revoked', revoked !== undefined && html`${time(revoked.at, now)}, reason: ${revoked.reason}`],
])}
${(state === 'valid' || state === 'intended') && revocationForm(certificate)}`;
  return { title: `Certificate ${serial.slice(0, 16)}`, at: 'domains', body };
};

function revocationForm({ serial, holder }: ShownCertificate): Html {
  return html`<section class="panel danger" id="revoke"><h2>Revoke this certificate</h2>
<p>From then on the server refuses it, and it is on the next revocation list. ${code(holder)} loses every access that rests on it. This cannot be undone.</p>
<form method="post" action="revoke">
<input type="hidden" name="serial" value="${serial}">
<p><label for="reason">Reason</label> <select id="reason" name="reason">${revocationReasons.map((reason) => html`<option>${reason}</option>`)}</select></p>
<p><button type="submit" class="danger">Revoke certificate</button></p>
</form></section>`;
}
