import { statusMeaning } from '@signet/policy-engine/policy';
import { describeAssertion } from '../../management/describe-assertion.ts';
import {
  describeChange,
  describePath,
  describeReasons,
  type ShownExplanation,
} from '../../management/describe-explanation.ts';
import { ApiRefusedError } from '../api.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import type { PageContext, PageFunction, Params } from '../page.ts';
import { badge, code, link, message, nameLink, table } from '../parts.ts';
import { drawPicture } from '../pictures/draw.ts';
import { pictureOf } from '../pictures/picture.ts';
import { readExplanation } from '../questions.ts';

/** Why a principal may do something or not: the decision as a picture and in words. */
export const whyPage: PageFunction = async (context, params) => {
  const { result, status = 200 } = await answerTo(context, params);
  const body = html`<h1>Why?</h1>
<p class="lead">Whether a principal may do an action on a resource, and what the answer rests on.</p>
${questionForm(params, context.me)}
${result}`;
  return { title: 'Why', at: 'why', body, status };
};

async function answerTo({ call }: PageContext, params: Params): Promise<{ result: HtmlValue; status?: number }> {
  const [principal, action, resource] = ['principal', 'action', 'resource'].map((name) => params.get(name)?.trim());
  if (!action || !resource) return { result: undefined };
  try {
    const explained = await readExplanation(call, { action, resource, principal: principal || undefined });
    return { result: explanation(explained, action, resource) };
  } catch (error) {
    // A question that cannot be answered is corrected in the form above.
    if (!(error instanceof ApiRefusedError) || ![400, 403, 404].includes(error.status)) throw error;
    return { result: html`<p class="notice bad">${message(error.message)}</p>`, status: error.status };
  }
}

/** Form of a question, with what was asked before. */
export function questionForm(params: Params, me: string): Html {
  const field = (name: string, label: string, hint: string) =>
    html`<p><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="text" value="${params.get(name) ?? (name === 'principal' ? me : '')}" placeholder="${hint}" autocomplete="off" spellcheck="false"></p>`;
  return html`<form method="get" action="why" class="row">
${field('principal', 'Principal', 'media.player')}
${field('action', 'Action', 'read')}
${field('resource', 'Resource', 'catalog:movie')}
<p><button type="submit">Explain</button></p>
</form>`;
}

function explanation(explained: ShownExplanation, action: string, resource: string): Html {
  const { granted, principal, status, changes, hidden } = explained;
  const picture = pictureOf(explained);
  return html`<section class="verdict ${granted ? 'good' : 'bad'}"><h2>${granted ? '✓ Granted' : '✕ Not granted'}</h2>
<p>${nameLink(principal)} ${granted ? 'may' : 'may not'} ${code(action)} on ${code(resource)}: ${statusMeaning(status)}.</p></section>
${hidden !== undefined && html`<p class="notice">${hidden} roles, groups or domains are left out, as you may not view them.</p>`}
<section><h2>How the answer comes about</h2>
${drawPicture(picture)}
${stepsTable(explained)}</section>
<section><h2>In words</h2><ul>${describeReasons({ ...explained, nearMisses: [] }).map((line) => html`<li>${line}</li>`)}</ul></section>
${explained.nearMisses.length > 0 && nearTable(explained)}
${
  !granted &&
  html`<section><h2>Smallest change that would grant it</h2>
${
  changes.length === 0
    ? html`<p class="quiet">No single set of memberships and assertions would.</p>`
    : html`<ul>${changes.map((change) => html`<li>${describeChange(change)}${change.kind === 'grant-role' && html` – ${link('role', { name: `${change.domain}:role.${change.role}` }, 'to the role')}`}</li>`)}</ul>`
}</section>`
}`;
}

/** The facts of the picture. */
function stepsTable({ principal, roles, decidedBy, nearMisses, granted, status }: ShownExplanation): Html {
  const ways = roles.map(({ role, held, paths }): readonly HtmlValue[] => [
    'role',
    code(role),
    held ? badge('held', 'good') : badge('not held', 'plain'),
    paths.map(describePath).join(', ') || '–',
  ]);
  const [nearest] = nearMisses;
  const decision: readonly HtmlValue[][] = [
    ...(decidedBy === undefined
      ? []
      : [
          assertionRow(
            decidedBy.assertion,
            badge('decides', granted ? 'good' : 'bad'),
            `policy ${decidedBy.policy}, by role ${decidedBy.heldRole}`,
          ),
        ]),
    ...(decidedBy !== undefined || nearest === undefined
      ? []
      : [
          assertionRow(
            nearest.assertion,
            badge(`nearest, differs in ${nearest.misses.join(' and ')}`, 'warn'),
            `policy ${nearest.policy}`,
          ),
        ]),
  ];
  const rows = [
    ['principal', nameLink(principal), '–', '–'],
    ...ways,
    ...decision,
    ['answer', code(status), badge(granted ? 'granted' : 'not granted', granted ? 'good' : 'bad'), '–'],
  ];
  const columns = ['Step', 'What', 'State', 'Through'];
  return table({ caption: 'The same as a table', columns, rows, empty: '' });
}

function assertionRow(assertion: Parameters<typeof describeAssertion>[0], state: Html, through: string): HtmlValue[] {
  return ['assertion', code(describeAssertion(assertion)), state, through];
}

function nearTable({ nearMisses }: ShownExplanation): Html {
  const rows = nearMisses.map(({ policy, assertion, misses }): readonly HtmlValue[] => [
    code(describeAssertion(assertion)),
    policy,
    misses.length === 0
      ? badge('fits')
      : html`<span class="badges">${misses.map((miss) => badge(miss, 'warn'))}</span>`,
  ]);
  const columns = ['Assertion', 'Policy', 'Differs in'];
  return html`<section><h2>Nearest assertions</h2>
${table({ caption: 'Assertions that come closest, best first', columns, rows, empty: '' })}</section>`;
}
