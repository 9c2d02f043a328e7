import type { FastifyReply } from 'fastify';

import { answerWithPage } from './page.ts';
import type { Page } from './page.ts';

/** Sends a page, in the theme that the person chose in this browser. */
export function showPage(
  reply: FastifyReply,
  page: Page,
  formTargets: readonly string[] = [],
): FastifyReply {
  const { cookie: cookies } = reply.request.headers;
  const { headers, html } = answerWithPage(page, { cookies, formTargets });
  return reply.headers(headers).send(html);
}
