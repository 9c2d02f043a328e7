import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { isIPv4 } from 'node:net';

/**
 * A self-signed certificate for one DNS name or IPv4 address, made for one test run: no private key lies in the
 * repository, and none expires. Just enough DER (X.690) for RFC 5280.
 */
export function createCertificate(name: string): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'));
  const commonName = der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from(name)));
  const subject = der(0x30, der(0x31, commonName));
  const time = (at: number) => {
    const digits = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, '');
    return der(0x17, Buffer.from(digits.slice(2)));
  };
  const validity = der(0x30, time(Date.now() - 86_400_000), time(Date.now() + 86_400_000));
  const isAddress = isIPv4(name);
  const subjectName = isAddress ? Buffer.from(name.split('.').map(Number)) : Buffer.from(name);
  const names = der(0x30, der(isAddress ? 0x87 : 0x82, subjectName));
  const subjectAltName = der(0x30, Buffer.from('0603551d11', 'hex'), der(0x04, names));
  const authority = der(0x04, der(0x30, Buffer.from('0101ff', 'hex')));
  const basicConstraints = der(0x30, Buffer.from('0603551d13', 'hex'), authority);
  const serial = der(0x02, Buffer.from([1]), randomBytes(8));
  const version = der(0xa0, Buffer.from('020102', 'hex'));
  const toBeSigned = der(
    0x30,
    Buffer.concat([version, serial, ecdsaWithSha256, subject, validity, subject]),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, subjectAltName, basicConstraints)),
  );
  const signature = createSign('sha256').update(toBeSigned).sign(privateKey);
  const bits = der(0x03, Buffer.from([0]), signature);
  const base64 = der(0x30, toBeSigned, ecdsaWithSha256, bits).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const length =
    content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
