/* SPDX-License-Identifier: MIT */
#include "writeback/krl.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "writeback/sshcert.h"
#include "writeback/sshpub.h"

static const char magic[8] = { 'S', 'S', 'H', 'K', 'R', 'L', '\n', 0 };
#define FORMAT 1
#define SHA1_SIZE 20

enum section {
	SECTION_CERTIFICATES = 1,
	SECTION_KEYS = 2,
	SECTION_SHA1 = 3,
	SECTION_SHA256 = 5,
};

enum subsection {
	SERIALS = 0x20,
	SERIAL_RANGE = 0x21,
	SERIAL_BITMAP = 0x22,
	KEY_IDS = 0x23,
};

/* What is looked for. cert is NULL for a plain key; then only blob and its hashes are. */
struct wanted {
	struct sshwire blob;
	unsigned char sha1[SHA1_SIZE];
	unsigned char sha256[DIGEST_SIZE];
	const struct sshcert *cert;
	bool found;
};

static int want(const struct sshwire *blob, const struct sshcert *cert, struct wanted *ret_wanted)
{
	unsigned int size;

	*ret_wanted = (struct wanted){ .blob = *blob, .cert = cert };
	if (EVP_Digest(blob->at, blob->left, ret_wanted->sha1, &size, EVP_sha1(), NULL) != 1)
		return -EIO;
	return digest_bytes(blob->at, blob->left, ret_wanted->sha256);
}

static int read_serials(struct sshwire w, struct wanted *x)
{
	uint64_t serial;

	while (w.left > 0) {
		if (sshwire_u64(&w, &serial) < 0)
			return -EBADMSG;
		x->found |= x->cert && serial == x->cert->serial;
	}
	return 0;
}

static int read_range(struct sshwire w, struct wanted *x)
{
	uint64_t first, last;

	if (sshwire_u64(&w, &first) < 0 || sshwire_u64(&w, &last) < 0 || w.left != 0 ||
	    first > last)
		return -EBADMSG;
	x->found |= x->cert && x->cert->serial >= first && x->cert->serial <= last;
	return 0;
}

static int read_bitmap(struct sshwire w, struct wanted *x)
{
	struct sshwire bits;
	uint64_t offset, bit;

	if (sshwire_u64(&w, &offset) < 0 || sshwire_string(&w, &bits) < 0 || w.left != 0)
		return -EBADMSG;
	if (!x->cert || x->cert->serial < offset)
		return 0;
	bit = x->cert->serial - offset;
	if (bit / 8 < bits.left)
		x->found |= bits.at[bits.left - 1 - bit / 8] >> bit % 8 & 1;
	return 0;
}

static int read_ids(struct sshwire w, struct wanted *x)
{
	struct sshwire id;

	while (w.left > 0) {
		if (sshwire_string(&w, &id) < 0)
			return -EBADMSG;
		x->found |= x->cert && sshwire_equal(&id, &x->cert->key_id);
	}
	return 0;
}

static int read_certificates(struct sshwire w, struct wanted *x)
{
	struct wanted other = { 0 }, *target = x;
	struct sshwire authority, reserved, data;
	unsigned char type;
	int err = 0;

	if (sshwire_string(&w, &authority) < 0 || sshwire_string(&w, &reserved) < 0)
		return -EBADMSG;
	/* of another authority: only read */
	if (x->cert && authority.left > 0 && !sshwire_equal(&authority, &x->cert->authority))
		target = &other;
	while (err == 0 && w.left > 0) {
		if (sshwire_u8(&w, &type) < 0 || sshwire_string(&w, &data) < 0)
			return -EBADMSG;
		switch (type) {
		case SERIALS:
			err = read_serials(data, target);
			break;
		case SERIAL_RANGE:
			err = read_range(data, target);
			break;
		case SERIAL_BITMAP:
			err = read_bitmap(data, target);
			break;
		case KEY_IDS:
			err = read_ids(data, target);
			break;
		default:
			err = -ENOTSUP;
		}
	}
	return err;
}

static int read_strings(struct sshwire w, const void *wanted, size_t len, size_t must,
			struct wanted *x)
{
	struct sshwire item, value = { wanted, len };

	while (w.left > 0) {
		if (sshwire_string(&w, &item) < 0 || (must > 0 && item.left != must))
			return -EBADMSG;
		x->found |= sshwire_equal(&item, &value);
	}
	return 0;
}

static int read_section(unsigned char type, struct sshwire data, struct wanted *x)
{
	switch (type) {
	case SECTION_CERTIFICATES:
		return read_certificates(data, x);
	case SECTION_KEYS:
		return read_strings(data, x->blob.at, x->blob.left, 0, x);
	case SECTION_SHA1:
		return read_strings(data, x->sha1, SHA1_SIZE, SHA1_SIZE, x);
	case SECTION_SHA256:
		return read_strings(data, x->sha256, DIGEST_SIZE, DIGEST_SIZE, x);
	default:
		return -ENOTSUP;
	}
}

static int read_all(const struct sshwire *data, struct wanted *x)
{
	struct sshwire w = *data, reserved, comment, section;
	uint64_t version, date, flags;
	uint32_t format;
	unsigned char type;
	int err = 0;

	if (w.left == 0)
		return 0;
	if (w.left < sizeof(magic) || memcmp(w.at, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	w.at += sizeof(magic);
	w.left -= sizeof(magic);
	if (sshwire_u32(&w, &format) < 0 || format != FORMAT || sshwire_u64(&w, &version) < 0 ||
	    sshwire_u64(&w, &date) < 0 || sshwire_u64(&w, &flags) < 0 ||
	    sshwire_string(&w, &reserved) < 0 || sshwire_string(&w, &comment) < 0)
		return -EBADMSG;
	while (err == 0 && w.left > 0) {
		if (sshwire_u8(&w, &type) < 0 || sshwire_string(&w, &section) < 0)
			return -EBADMSG;
		err = read_section(type, section, x);
	}
	return err;
}

int krl_check(const struct sshwire *data, const char *name, struct weir_err *e)
{
	struct wanted nothing = { 0 };
	int err = read_all(data, &nothing);

	if (err == -ENOTSUP)
		return err_set(e, -EBADMSG, "%s: it has sections that this gate does not know",
			       name);
	return err < 0 ? err_set(e, -EBADMSG, "%s: no key revocation list of ssh-keygen -k", name)
		       : 0;
}

static int look(const struct sshwire *data, const struct sshwire *blob, const struct sshcert *cert)
{
	struct wanted x;
	int err = want(blob, cert, &x);

	if (err == 0)
		err = read_all(data, &x);
	return err < 0 ? -EBADMSG : x.found;
}

int krl_has(const struct sshwire *data, const struct sshwire *blob)
{
	cleanup_sshcert struct sshcert cert = { 0 };
	struct sshwire plain;
	int found;

	if (data->left == 0)
		return 0;
	if (!sshcert_is(blob))
		return look(data, blob, NULL);
	if (sshcert_read(blob, &cert) < 0)
		return -EBADMSG;
	plain = sshwire_of(&cert.plain);
	found = look(data, &cert.authority, NULL);
	return found ? found : look(data, &plain, &cert);
}
