import type { MarkdownOptions } from 'vitepress';

type Markdown = Parameters<NonNullable<MarkdownOptions['config']>>[0];

/** Frames pictures so that a narrow screen scrolls them, by keyboard as well, in place of shrinking their letters. */
export function framePictures(markdown: Markdown): void {
  const { image } = markdown.renderer.rules;
  if (image === undefined) throw new Error('pictures are not rendered by a rule');
  markdown.renderer.rules.image = (...args) =>
    `<span class="picture" role="group" aria-label="Picture" tabindex="0">${image(...args)}</span>`;
}
