import { v7 as uuidv7 } from 'uuid';

import type { Transaction } from '#database';
import { insertDelivery } from './delivery.sql.ts';
import { getChallenge } from './webhook.sql.ts';

/** Queues the verification as a delivery. The endpoint must answer it with the challenge. */
export async function queueVerification(
  tx: Transaction,
  { orgId, id }: { orgId: string; id: string },
): Promise<void> {
  const challenge = await getChallenge(tx, { orgId, id });
  const deliveryId = uuidv7();
  await insertDelivery(tx, {
    id: deliveryId,
    orgId,
    webhookId: id,
    eventId: deliveryId,
    type: 'webhook.verification',
    body: JSON.stringify({
      id: deliveryId,
      type: 'webhook.verification',
      created_at: new Date().toISOString(),
      org_id: orgId,
      data: { challenge },
    }),
    status: 'pending',
  });
}
