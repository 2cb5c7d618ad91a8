// SPDX-License-Identifier: MIT
// stock.js PEM BUNDLE VKEY PROOF ENTRY: for stock.t; @sigstore/verify on each envelope of the
// bundle, and on checkpoint and inclusion. NODE_PATH says where the packages are.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const { bundleFromJSON } = require('@sigstore/bundle');
const { toSignedEntity, toTrustMaterial, Verifier } = require('@sigstore/verify');
const inside = path.dirname(require.resolve('@sigstore/verify'));
const { verifyCheckpoint } = require(path.join(inside, 'tlog/checkpoint.js'));
const { verifyMerkleInclusion } = require(path.join(inside, 'tlog/merkle.js'));

const [pem, bundle, vkey, proofFile, entryFile] = process.argv.slice(2);

function checkEnvelopes() {
  const publicKey = crypto.createPublicKey(fs.readFileSync(pem));
  const none = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
  const trust = toTrustMaterial(none, () => ({ publicKey, validFor: () => true }));
  const verifier = new Verifier(trust, {
    tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0, tsaThreshold: 0 });
  const lines = fs.readFileSync(bundle, 'utf8').trimEnd().split('\n');
  for (const line of lines)
    verifier.verify(toSignedEntity(bundleFromJSON({
      mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      verificationMaterial: { publicKey: { hint: 'gate' }, tlogEntries: [],
        timestampVerificationData: { rfc3161Timestamps: [] } },
      dsseEnvelope: JSON.parse(line),
    })));
  return lines.length;
}

function checkLog() {
  const [name, id, key] = fs.readFileSync(vkey, 'utf8').trim().split(/\+(?=[0-9a-f]{8}\+)|(?<=^[^+]*\+[0-9a-f]{8})\+/);
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'),
    Buffer.from(key, 'base64').subarray(1)]);
  const proof = fs.readFileSync(proofFile, 'utf8');
  const split = proof.indexOf('\n\n');
  const head = proof.slice(0, split).split('\n');
  const entry = {
    canonicalizedBody: fs.readFileSync(entryFile),
    inclusionProof: {
      logIndex: head[1].slice('index '.length),
      hashes: head.slice(2).map((h) => Buffer.from(h, 'base64')),
      checkpoint: { envelope: proof.slice(split + 2) },
    },
  };
  const checkpoint = verifyCheckpoint(entry, [{ baseURL: name, logID: Buffer.from(id, 'hex'),
    publicKey: crypto.createPublicKey({ key: der, format: 'der', type: 'spki' }) }]);
  verifyMerkleInclusion(entry, checkpoint);
}

try {
  console.log('envelopes', checkEnvelopes());
  checkLog();
  console.log('log good');
} catch (e) {
  console.error(`stock.js: ${e.code || ''} ${e.message}`);
  process.exit(1);
}
