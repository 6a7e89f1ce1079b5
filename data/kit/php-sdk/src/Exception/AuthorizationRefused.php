<?php

/** The sign-on service sent an error in place of a code, such as access_denied: the visitor said no. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class AuthorizationRefused extends PortcullisException
{
    public function __construct(
        /** As in OAuth 2.0: access_denied, login_required, invalid_scope and so on. */
        public readonly string $error,
        /** Written by the service, for people. Comes through the visitor's browser: escape it. */
        public readonly string $description,
    ) {
        parent::__construct('The sign-on service answered ' . $error . '.');
    }
}
