import { createHash } from 'node:crypto';
import type { MarkdownOptions } from 'vitepress';

type Transformer = NonNullable<MarkdownOptions['codeTransformers']>[number];

const rules = new Map<string, string>();

/** Gives code its colours by classes, as the Content-Security-Policy of the site allows no `style` attribute. */
export const coloursAsClasses: Transformer = {
  name: 'colours-as-classes',
  span: ({ properties }) => {
    const { style } = properties;
    if (typeof style !== 'string') return;
    const name = `c-${createHash('sha256').update(style).digest('hex').slice(0, 8)}`;
    rules.set(name, style);
    delete properties['style'];
    properties['class'] = name;
  },
};

/** The style sheet of the classes given so far. */
export function coloursSheet(): string {
  return [...rules].map(([name, style]) => `.${name}{${style}}\n`).join('');
}
