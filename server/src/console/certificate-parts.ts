import { type Html, type HtmlValue, html } from './html.ts';
import { pathTo } from './page.ts';
import { badge, code, link, table, time } from './parts.ts';
import type { ShownCertificate } from './shapes.ts';

const tones = { valid: 'good', intended: 'warn', expired: 'plain', revoked: 'bad' } as const;

export function stateBadge({ state }: ShownCertificate): Html {
  return badge(state, tones[state]);
}

export function certificateTable(holder: string, certificates: readonly ShownCertificate[], now: number): Html {
  const rows = certificates.map((certificate): readonly HtmlValue[] => {
    const { serial, kind, subject, notBefore, notAfter, state } = certificate;
    return [
      link('certificate', { serial }, code(serial)),
      html`<span class="whole">${kind} ${code(subject)}</span>`,
      stateBadge(certificate),
      time(notBefore, now),
      time(notAfter, now),
      state === 'valid' &&
        html`<a class="button" href="${pathTo('certificate', { serial })}#revoke">Revoke…<span class="hidden"> ${serial}</span></a>`,
    ];
  });
  const columns = ['Serial number', 'For', 'State', 'From', 'Until', ''];
  return table({ caption: `Certificates of ${holder}`, columns, rows, empty: 'It has no certificates.' });
}
