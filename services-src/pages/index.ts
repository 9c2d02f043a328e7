export { answerWithPage, createMessagePage, createPage, escapeHtml } from './page.ts';
export type { Page } from './page.ts';
export { showPage } from './show-page.ts';
