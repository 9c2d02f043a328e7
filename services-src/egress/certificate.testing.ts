import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { isIPv4 } from 'node:net';

/**
 * Creates a self-signed certificate for one DNS name or IPv4 address, for one test run: the
 * repository contains no private key, and no certificate expires. It writes just enough DER (X.690)
 * for RFC 5280.
 */
export function createCertificate(name: string): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = encodeDer(0x30, Buffer.from('06082a8648ce3d040302', 'hex'));
  const commonName = encodeDer(
    0x30,
    Buffer.from('0603550403', 'hex'),
    encodeDer(0x0c, Buffer.from(name)),
  );
  const subject = encodeDer(0x30, encodeDer(0x31, commonName));
  const encodeTime = (at: number) => {
    const digits = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, '');
    return encodeDer(0x17, Buffer.from(digits.slice(2)));
  };
  const validity = encodeDer(
    0x30,
    encodeTime(Date.now() - 86_400_000),
    encodeTime(Date.now() + 86_400_000),
  );
  const isAddress = isIPv4(name);
  const subjectName = isAddress ? Buffer.from(name.split('.').map(Number)) : Buffer.from(name);
  const names = encodeDer(0x30, encodeDer(isAddress ? 0x87 : 0x82, subjectName));
  const subjectAltName = encodeDer(0x30, Buffer.from('0603551d11', 'hex'), encodeDer(0x04, names));
  const authorityFlag = encodeDer(0x04, encodeDer(0x30, Buffer.from('0101ff', 'hex')));
  const basicConstraints = encodeDer(0x30, Buffer.from('0603551d13', 'hex'), authorityFlag);
  const serial = encodeDer(0x02, Buffer.from([1]), randomBytes(8));
  const version = encodeDer(0xa0, Buffer.from('020102', 'hex'));
  const toBeSigned = encodeDer(
    0x30,
    Buffer.concat([version, serial, ecdsaWithSha256, subject, validity, subject]),
    publicKey.export({ type: 'spki', format: 'der' }),
    encodeDer(0xa3, encodeDer(0x30, subjectAltName, basicConstraints)),
  );
  const signature = createSign('sha256').update(toBeSigned).sign(privateKey);
  const bits = encodeDer(0x03, Buffer.from([0]), signature);
  const base64 = encodeDer(0x30, toBeSigned, ecdsaWithSha256, bits).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}(?!$)/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function encodeDer(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length: bytes } = content;
  const longForm = bytes < 256 ? [0x81, bytes] : [0x82, bytes >> 8, bytes & 0xff];
  const length = bytes < 128 ? [bytes] : longForm;
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
