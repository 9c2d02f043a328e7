import type { FastifyInstance, FastifyReply } from 'fastify';

import { showPage } from '#pages';
import type { Deps } from '../deps.ts';
import { refuseOtherMethods } from '../http/refuse-other-methods.ts';
import { createLibrary } from './library.ts';

const indexAddress = '/docs';
const pageAddresses = '/docs/*';
const llmsAddress = '/llms.txt';

/**
 * Serves the documentation of this release without a credential: `/docs`, each page as HTML and as
 * Markdown, and `/llms.txt`. Only the addresses of the fixed set of pages exist.
 */
export async function serveDocs(app: FastifyInstance, { site }: Pick<Deps, 'site'>): Promise<void> {
  const library = createLibrary();
  app.get(indexAddress, (_request, reply) => showPage(reply, library.indexPage()));
  app.get(llmsAddress, (_request, reply) =>
    sendText(reply, 'text/plain', library.writeIndex(site().origin)),
  );
  const answers = new Map<string, (reply: FastifyReply) => FastifyReply>();
  for (const { address, twinAddress, html, markdown } of library.pages) {
    answers.set(address, (reply) => showPage(reply, html()));
    answers.set(twinAddress, (reply) => sendText(reply, 'text/markdown', markdown()));
  }
  // All pages share one route, because the metrics have a label for each route.
  app.get(pageAddresses, (request, reply) => {
    const answer = answers.get(request.url.split('?', 1)[0] ?? '');
    return answer === undefined ? reply.callNotFound() : answer(reply);
  });
  refuseOtherMethods(
    app,
    [indexAddress, llmsAddress, pageAddresses].map((url) => ({ method: 'GET', url })),
  );
}

function sendText(reply: FastifyReply, type: string, text: string): FastifyReply {
  return reply
    .headers({ 'content-type': `${type}; charset=utf-8`, 'cache-control': 'public, max-age=300' })
    .send(text);
}
