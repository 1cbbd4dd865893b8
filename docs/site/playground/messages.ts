import type { Evaluation } from './evaluate.ts';
import type { Opened } from './link.ts';
import type { PlaygroundState } from './state.ts';

/** What the page asks of its worker. */
export type Request =
  | { readonly kind: 'evaluate'; readonly state: PlaygroundState }
  | { readonly kind: 'open'; readonly fragment: string }
  | { readonly kind: 'share'; readonly state: PlaygroundState };

/** What the worker answers. */
export type Reply =
  | { readonly kind: 'evaluated'; readonly evaluation: Evaluation }
  | { readonly kind: 'opened'; readonly opened: Opened }
  /** Without a link: the state is too long for one. */
  | { readonly kind: 'shared'; readonly link?: string }
  | { readonly kind: 'failed'; readonly message: string };
