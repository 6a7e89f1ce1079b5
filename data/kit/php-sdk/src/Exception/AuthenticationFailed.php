<?php

/** The API key is missing, wrong or revoked. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class AuthenticationFailed extends ServiceException
{
}
