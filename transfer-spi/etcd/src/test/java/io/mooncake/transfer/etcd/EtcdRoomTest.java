// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import java.time.Clock;
import java.time.Instant;

/** What the room for etcd knows. It is not on the class path of the tests that look at all other rooms. */
@AnalyzeClasses(packages = "io.mooncake.transfer.etcd", importOptions = ImportOption.DoNotIncludeTests.class)
class EtcdRoomTest {
    @ArchTest
    static void room_knowsJetcdAndTheMetadataInterfacesOnly(JavaClasses all) {
        classes()
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "java..",
                        "org.slf4j..",
                        "org.jspecify..",
                        "io.etcd..",
                        "io.vertx.core..",
                        "io.mooncake.base..",
                        "io.mooncake.transfer.metadata..",
                        "io.mooncake.transfer.etcd..")
                .check(all);
    }

    @ArchTest
    static void wallClock_isNotAsked(JavaClasses all) {
        noClasses().should().dependOnClassesThat().areAssignableTo(Clock.class).check(all);
        noClasses()
                .should()
                .dependOnClassesThat()
                .areAssignableTo(Instant.class)
                .check(all);
        noClasses()
                .should()
                .callMethod(System.class, "currentTimeMillis")
                .because("no lease and no limit changes when the wall clock jumps")
                .check(all);
    }
}
