import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { createWebhookBody, createdWebhook } from '#contracts/http/webhooks';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { limitingIdentityIdOf } from './domain/access.ts';
import { defaultEventPatterns, findUnknownEvents } from './domain/subscription.ts';
import { createWebhookEvent } from './domain/webhook-events.ts';
import { queueVerification } from './queue-verification.ts';
import { countWebhooks, insertWebhook } from './webhook.sql.ts';

const webhooksPerOrgMax = 100;
/** A limit per user, so that one user cannot take all webhooks of the org. */
const webhooksPerUserMax = 25;

/**
 * Creates a subscription and sends its verification. Only this answer contains the signing secret.
 */
export async function createWebhook(
  deps: Deps,
  { principal, body }: { principal: string; body: z.infer<typeof createWebhookBody> },
): Promise<z.infer<typeof createdWebhook>> {
  const caller = deps.readPrincipal(principal);
  const { orgId } = caller;
  const owner = limitingIdentityIdOf(caller, 'write');
  const events = body.events ?? defaultEventPatterns;
  checkUrl(body.url);
  checkEvents(events);
  const id = uuidv7();
  const webhook = await deps.db.transaction(async (tx) => {
    checkWebhookLimits(await countWebhooks(tx, { orgId, subtreeId: owner }));
    const stored = await insertWebhook(tx, {
      id,
      orgId,
      subtreeId: owner,
      url: body.url,
      events,
      description: body.description ?? null,
      challenge: randomBytes(24).toString('base64url'),
      createdBy: caller.identityId,
    });
    await queueVerification(tx, { orgId, id });
    const text = `Subscribed ${body.url}`;
    await appendEvent(tx, createWebhookEvent('webhook.created', { caller, id, text }));
    return stored.webhook;
  });
  deps.wakeDeliveries();
  return { ...webhook, secret: deps.webhookSecretOf(id) };
}

/**
 * Checks only the form of the URL. The egress guard checks at each attempt whether the host may be
 * reached.
 */
function checkUrl(text: string): void {
  const url = new URL(text);
  if (!['https:', 'http:'].includes(url.protocol) || url.username || url.password || url.hash) {
    throw new AppError('invalid_params', 'Give an https URL without user, password and fragment.', {
      details: { issues: [{ path: 'url', message: 'is not a URL a webhook can have' }] },
    });
  }
}

function checkEvents(events: readonly string[]): void {
  const unknownNames = findUnknownEvents(events);
  if (unknownNames.length === 0) return;
  throw new AppError('invalid_params', `No subscriber can see ${unknownNames.join(', ')}.`, {
    details: { issues: [{ path: 'events', message: 'unknown event type' }] },
  });
}

function checkWebhookLimits({ all, own }: { all: number; own: number }): void {
  if (all >= webhooksPerOrgMax) {
    throw new AppError('conflict', `An org has at most ${webhooksPerOrgMax} webhooks.`);
  }
  if (own >= webhooksPerUserMax) {
    throw new AppError(
      'conflict',
      `A member has at most ${webhooksPerUserMax} webhooks; delete one that is not needed any more.`,
    );
  }
}
