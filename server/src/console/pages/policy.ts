import { describeConditions } from '../../management/describe-assertion.ts';
import { objectName, required } from '../form-names.ts';
import { type HtmlValue, html } from '../html.ts';
import type { PageFunction } from '../page.ts';
import { badge, code, link, nameLink, table } from '../parts.ts';
import { readPolicy } from '../questions.ts';

/** A policy: the assertions of its versions, the active one first. */
export const policyPage: PageFunction = async ({ call }, params) => {
  const full = required(params, 'name');
  const { domain, name } = objectName(full);
  const policy = await readPolicy(call, domain, name);
  const versions = Object.entries(policy.versions).sort(([a], [b]) => rank(b) - rank(a) || (a < b ? -1 : 1));
  function rank(version: string): number {
    return Number(version === policy.active);
  }
  const sections = versions.map(([version, assertions]) => {
    const rows = assertions.map((assertion): readonly HtmlValue[] => [
      assertion.effect === 'DENY' ? badge('deny', 'bad') : badge('allow', 'good'),
      code(assertion.action),
      code(assertion.resource),
      nameLink(assertion.role.includes(':') ? assertion.role : `${domain}:role.${assertion.role}`),
      describeConditions(assertion.conditions).trim() || 'always',
    ]);
    const columns = ['Effect', 'Action', 'Resource', 'Role', 'Conditions'];
    const caption = `Assertions of version ${version}`;
    return html`<section><h2>Version ${version} ${version === policy.active ? badge('active', 'good') : badge('not active')}</h2>
${table({ caption, columns, rows, empty: 'This version has no assertions.' })}</section>`;
  });
  const body = html`<p class="crumbs">${link('domain', { name: domain }, code(domain))}</p>
<h1>Policy ${code(name)}</h1>
${policy.description !== undefined && html`<p class="lead">${policy.description}</p>`}
${sections}`;
  return { title: full, at: 'domains', body };
};
