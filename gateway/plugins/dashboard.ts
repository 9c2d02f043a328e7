import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { messagePage, pageHeaders } from '#pages';

const builtDashboard = fileURLToPath(new URL('../../dashboard/dist/', import.meta.url));
const oneYearMs = 365 * 24 * 60 * 60 * 1000;

/** Addresses that never fall back to the dashboard: a wrong one there is a program's mistake. */
const notPages = /^\/(v1|oauth|mcp|health|\.well-known)(\/|$)/;

const contentSecurityPolicy = [
  "default-src 'self'",
  "style-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'self'",
].join('; ');

/** Pages of other sites can neither frame the dashboard, hold its window, nor load its files. */
const isolation = {
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
};

interface DashboardOptions {
  /** Folder with the built dashboard; the one of this repository by default. */
  readonly dist?: string | undefined;
}

/** Serves the built dashboard; every page address is its `index.html`, which routes by itself. */
export async function dashboardPages(
  app: FastifyInstance,
  { dist = builtDashboard }: DashboardOptions,
): Promise<void> {
  await app.register(fastifyStatic, { root: dist, serve: false, dotfiles: 'deny' });

  app.get('/*', (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '/';
    if (notPages.test(path)) return reply.callNotFound();
    void reply.headers(isolation);
    if (/\.[a-z0-9]+$/i.test(path)) return sendAsset(reply, path);
    if (!wantsPage(request)) return reply.callNotFound();
    if (!existsSync(join(dist, 'index.html'))) return sendMissing(reply);
    void reply.header('cache-control', 'no-cache');
    return reply.sendFile('index.html', { cacheControl: false });
  });
}

function sendAsset(reply: FastifyReply, path: string): FastifyReply {
  reply.removeHeader('cache-control');
  // The build names what is below /assets/ by its content.
  if (path.startsWith('/assets/')) {
    return reply.sendFile(path.slice(1), { immutable: true, maxAge: oneYearMs });
  }
  return reply.sendFile(path.slice(1), { maxAge: 0 });
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept === undefined || /text\/html|\*\/\*/.test(headers.accept);
}

function sendMissing(reply: FastifyReply): FastifyReply {
  return reply
    .code(404)
    .headers(pageHeaders())
    .send(
      messagePage(
        'The dashboard is not built yet',
        '"npm start" builds it when it is missing: stop the gateway, start it again, and load this page. The REST API under /v1 works without it.',
      ),
    );
}
