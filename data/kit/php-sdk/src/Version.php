<?php

/** The version of this SDK, sent as the User-Agent. */

declare(strict_types=1);

namespace Portcullis;

final class Version
{
    public const TEXT = '1.0.0';
}
