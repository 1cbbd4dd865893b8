import { createHash } from 'node:crypto';

/* The Content-Security-Policy of a built page. */

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The policy of a page: only files of the site, and the inline scripts that it has now, by their digests. */
export function securityPolicyOf(html: string): string {
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs)].map(([, script = '']) =>
    hashOf(script),
  );
  return [
    "default-src 'none'",
    ["script-src 'self'", ...new Set(inline)].join(' '),
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

/** What the generator writes as attributes; the first stands in the style sheet of the site, the others are the initial values anyhow. */
const styles = / style="(?:position:relative;|--vp-vh:0px;|)"/g;

/** The page with its policy as its first `meta`, which counts for everything after it, and without `style` attributes, which it forbids. */
export function withSecurityPolicy(html: string): string {
  const meta = `<meta http-equiv="Content-Security-Policy" content="${securityPolicyOf(html)}">`;
  return html.replaceAll(styles, '').replace(/<head>\s*<meta charset="utf-8">/i, (head) => `${head}\n    ${meta}`);
}
