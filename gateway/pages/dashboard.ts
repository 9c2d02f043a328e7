import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { dashboardPaths } from '#contracts/http/dashboard-paths';
import { createMessagePage, showPage } from '#pages';

const builtDashboardFolder = fileURLToPath(new URL('../../dashboard/dist/', import.meta.url));
const oneYearMs = 365 * 24 * 60 * 60 * 1000;

const contentSecurityPolicy = [
  "default-src 'self'",
  "style-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'self'",
].join('; ');

/**
 * Headers that prevent pages of other sites from framing the dashboard, accessing its window or
 * loading its files.
 */
const isolationHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
};

interface DashboardOptions {
  /** The folder of the built dashboard; by default the one in this repository. */
  readonly dist?: string | undefined;
}

/**
 * Serves the built dashboard: its files, and `index.html` at the addresses of its pages. All other
 * addresses remain unknown, so that programs and scanners get a 404 there.
 */
export async function serveDashboard(
  app: FastifyInstance,
  { dist = builtDashboardFolder }: DashboardOptions,
): Promise<void> {
  await app.register(fastifyStatic, {
    root: dist,
    serve: false,
    dotfiles: 'deny',
    // The build stores each asset in compressed forms as well.
    preCompressed: true,
  });

  for (const path of Object.values(dashboardPaths)) {
    app.get(path, (request, reply) => {
      if (!wantsPage(request)) return reply.callNotFound();
      void reply.headers(isolationHeaders);
      if (!existsSync(join(dist, 'index.html'))) return sendNotBuiltPage(reply);
      void reply.header('cache-control', 'no-cache');
      return reply.sendFile('index.html', { cacheControl: false });
    });
  }
  for (const path of ['/assets/*', ...filesOf(dist)]) {
    app.get(path, (request, reply) =>
      sendAsset(reply.headers(isolationHeaders), request.url.split('?', 1)[0] ?? '/'),
    );
  }
}

/** The files beside the assets, such as `/favicon.svg`. */
function filesOf(distFolder: string): string[] {
  if (!existsSync(distFolder)) return [];
  return readdirSync(distFolder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /^[a-z0-9_-]+\.[a-z0-9]+$/.test(entry.name))
    .map(({ name }) => `/${name}`)
    .filter((path) => path !== '/index.html');
}

function sendAsset(reply: FastifyReply, path: string): FastifyReply {
  reply.removeHeader('cache-control');
  // The name of a file below /assets/ contains a hash of its content, so browsers may cache the
  // file for ever.
  if (path.startsWith('/assets/')) {
    return reply.sendFile(path.slice(1), { immutable: true, maxAge: oneYearMs });
  }
  return reply.sendFile(path.slice(1), { maxAge: 0 });
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept === undefined || /text\/html|\*\/\*/.test(headers.accept);
}

function sendNotBuiltPage(reply: FastifyReply): FastifyReply {
  return showPage(
    reply.code(404),
    createMessagePage(
      'The dashboard is not built yet',
      '"npm start" builds it when it is missing: stop the gateway, start it again, and load this page. The REST API under /v1 works without it.',
    ),
  );
}
