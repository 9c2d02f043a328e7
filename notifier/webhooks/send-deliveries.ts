import { blankAuditEntry } from '#contracts/audit';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { count } from '#telemetry';
import type { Deps } from '../deps.ts';
import { failingSecondsMax, nextAttemptInSeconds, parseRetryAfter } from './domain/schedule.ts';
import { createSignedHeaders } from './domain/signature.ts';
import { judgeDeliveryAttempt } from './domain/verdict.ts';
import type { Verdict } from './domain/verdict.ts';
import {
  claimDueDeliveries,
  markOpenDeliveriesFailed,
  finishDelivery,
  releaseHeldDeliveries,
} from './delivery.sql.ts';
import type { DueDelivery } from './delivery.sql.ts';
import {
  activateWebhook,
  disableWebhook,
  lockWebhook,
  markFailing,
  markHealthy,
} from './webhook.sql.ts';

const attemptTimeoutMs = 15_000;
/** Longer than an attempt can take, so that two processes never make the same attempt. */
const leaseSeconds = 30;
const deliveriesPerBatch = 32;
const perWebhookMax = 8;
const answerBytesMax = 64 * 1024;

interface DeliveryAttempt {
  readonly verdict: Verdict;
  readonly statusCode: number | null;
  readonly retryAfter: number | null;
}

/** Makes every attempt that is due now and returns their number. */
export async function sendDeliveries(deps: Deps): Promise<number> {
  const dueDeliveries = await claimDueDeliveries(deps.db, {
    limit: deliveriesPerBatch,
    perWebhook: perWebhookMax,
    leaseSeconds,
  });
  await Promise.all(
    dueDeliveries.map(async (delivery) => {
      const attempt = await sendDelivery(deps, delivery);
      count('aag.webhook.attempts', { outcome: attempt.verdict.kind });
      await storeResult(deps, delivery, attempt);
    }),
  );
  return dueDeliveries.length;
}

async function sendDelivery(deps: Deps, delivery: DueDelivery): Promise<DeliveryAttempt> {
  const nowMs = Date.now();
  try {
    const answer = await deps.egress.request({
      method: 'POST',
      url: delivery.url,
      headers: createSignedHeaders({
        secret: deps.webhookSecretOf(delivery.webhookId),
        timestampSeconds: Math.floor(nowMs / 1000),
        body: delivery.body,
        type: delivery.type,
        deliveryId: delivery.id,
        orgId: delivery.orgId,
      }),
      body: Buffer.from(delivery.body),
      totalTimeoutMs: attemptTimeoutMs,
      maxBytes: answerBytesMax,
      overflow: 'truncate',
    });
    const retryAfterHeader = answer.headers.find(
      ([name]) => name.toLowerCase() === 'retry-after',
    )?.[1];
    return {
      statusCode: answer.status,
      retryAfter: parseRetryAfter(retryAfterHeader, nowMs),
      verdict: judgeDeliveryAttempt({
        status: answer.status,
        body: Buffer.from(answer.body).toString('utf8'),
        challenge: delivery.type === 'webhook.verification' ? delivery.challenge : null,
      }),
    };
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (error.code === 'internal') deps.logger.error({ err: thrown }, 'delivery attempt failed');
    return {
      statusCode: null,
      retryAfter: null,
      verdict: { kind: 'failed', error: `${error.code}: ${error.message}` },
    };
  }
}

async function storeResult(
  deps: Deps,
  delivery: DueDelivery,
  attempt: DeliveryAttempt,
): Promise<void> {
  const { orgId, webhookId } = delivery;
  const { verdict } = attempt;
  await deps.db.transaction(async (tx) => {
    if (!(await lockWebhook(tx, { orgId, id: webhookId }))) return;
    const secondsToNextAttempt =
      verdict.kind === 'failed'
        ? nextAttemptInSeconds({
            attempts: delivery.attempts,
            random: Math.random(),
            retryAfter: attempt.retryAfter,
          })
        : null;
    const isCurrent = await finishDelivery(tx, {
      orgId,
      id: delivery.id,
      attempts: delivery.attempts,
      status:
        verdict.kind === 'delivered'
          ? 'delivered'
          : secondsToNextAttempt === null
            ? 'failed'
            : 'pending',
      inSeconds: secondsToNextAttempt,
      statusCode: attempt.statusCode,
      error: verdict.kind === 'delivered' ? null : describeFailure(verdict),
    });
    if (!isCurrent) return;

    if (verdict.kind === 'gone')
      return disableSubscription(tx, delivery, 'The endpoint answered 410 Gone.');
    if (verdict.kind === 'failed') {
      const failingSeconds = await markFailing(tx, { orgId, id: webhookId });
      if (failingSeconds > failingSecondsMax) {
        await disableSubscription(tx, delivery, 'Every delivery has failed for 5 days.');
      }
      return;
    }
    await markHealthy(tx, { orgId, id: webhookId });
    if (delivery.type !== 'webhook.verification') return;
    if (await activateWebhook(tx, { orgId, id: webhookId })) {
      await releaseHeldDeliveries(tx, { orgId, webhookId });
      await appendEvent(tx, {
        type: 'webhook.changed',
        orgId,
        audience: [],
        data: { webhook_id: webhookId, status: 'active' },
        audit: blankAuditEntry(`Webhook ${webhookId} was verified by its endpoint`),
      });
    }
  });
}

async function disableSubscription(
  tx: Transaction,
  delivery: DueDelivery,
  reason: string,
): Promise<void> {
  const { orgId, webhookId } = delivery;
  if (!(await disableWebhook(tx, { orgId, id: webhookId, reason }))) return;
  await markOpenDeliveriesFailed(tx, { orgId, webhookId, error: reason });
  await appendEvent(tx, {
    type: 'webhook.disabled',
    orgId,
    audience: [],
    data: { webhook_id: webhookId, reason },
    audit: blankAuditEntry(`Webhook ${webhookId} was disabled: ${reason}`),
  });
}

function describeFailure(verdict: Verdict): string {
  if (verdict.kind === 'gone') return 'The endpoint answered 410 Gone.';
  return verdict.kind === 'failed' ? verdict.error : '';
}
